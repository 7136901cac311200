/** Recorded messages as JSON lines, with the field names of the client library's stores. */

import type { LoggedMessage, Sender } from "../fold/message";
import { isObject, numberAt, parseJson, textAt, type Json } from "../json";

/** Lines that cannot be read are left out: a recording may end in the middle of one. */
export function readMessages(text: string): LoggedMessage[] {
  const messages: LoggedMessage[] = [];
  for (const line of text.split("\n")) {
    const entry = parseJson(line);
    if (!isObject(entry)) continue;
    const sender = textAt(entry, "sender") === "client" ? "client" : "agent";
    const time = numberAt(entry, "createdAt") ?? 0;
    const [oldest, newest] = [numberAt(entry.gap, "oldest"), numberAt(entry.gap, "newest")];
    if (oldest !== undefined && newest !== undefined)
      messages.push({ ...recorded(messages.length, sender, time, null), gap: { oldest, newest } });
    else if (entry.payload !== undefined)
      messages.push(recorded(messages.length, sender, time, entry.payload));
  }
  return messages;
}

export function recorded(n: number, sender: Sender, time: number, payload: Json): LoggedMessage {
  return { n, sender, after: n, time, payload };
}
