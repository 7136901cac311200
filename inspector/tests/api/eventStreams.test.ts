/** Event streams that arrive in pieces. */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import { expect, test } from "vitest";

const STREAM =
  'event: message\nid: 1\ndata: {"a":1}\n\n: heartbeat\n\nevent: gap\ndata: {"oldest":3,"newest":9}\n\nevent: message\r\nid: 2\r\ndata: x\r\n\r\n';

test.each([1, 3, 11, 1000])("a stream cut into pieces of %i characters gives the same events", (size) => {
  const events: EventSourceMessage[] = [];
  let heartbeats = 0;
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onComment: () => (heartbeats += 1),
  });
  for (let at = 0; at < STREAM.length; at += size) parser.feed(STREAM.slice(at, at + size));
  expect(events).toEqual([
    { event: "message", id: "1", data: '{"a":1}' },
    { event: "gap", data: '{"oldest":3,"newest":9}' },
    { event: "message", id: "2", data: "x" },
  ]);
  expect(heartbeats).toBe(1);
});
