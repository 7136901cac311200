/** The events of a server-sent stream, read with fetch because EventSource cannot send the token as a header. */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { CallOptions, Http } from "./http";

/** Ends with the stream; rejects with an ApiProblem if the server refuses, or when the connection breaks. */
export async function* readEvents(
  http: Http,
  path: string,
  options: CallOptions,
): AsyncGenerator<EventSourceMessage> {
  const response = await http.checked(path, options);
  if (!response.body) return;
  const arrived: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => arrived.push(event) });
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    parser.feed(chunk);
    yield* arrived.splice(0);
  }
}
