/**
 * What clients posted to an instance, as its stream tells it: the messages of this browser, which are in the log
 * already, and those of others, which are not. A message comes before the event that follows it, in a replay much
 * earlier, so it waits for the event `after`.
 */

import type { Json } from "../json";

export interface PostedMessage {
  number: number;
  /** Number of the agent's last message before it. */
  after: number;
  timeMs: number;
  /** Null for a message that is too long for the server to keep. */
  message: Json;
}

export class ClientMessages {
  /** Number of the last message that the stream brought. */
  last = 0;
  private ignoredBefore = 0;
  private readonly waiting: PostedMessage[] = [];
  /** How often a message is in the log and was not on the stream yet, by its text; and the reverse. */
  private readonly logged = new Map<string, number>();
  private readonly streamed = new Map<string, number>();

  /** A run begins or is read again: its log up to this event is known. */
  restart(lastEventId: number): void {
    this.last = 0;
    this.ignoredBefore = lastEventId;
    this.waiting.length = 0;
    this.logged.clear();
    this.streamed.clear();
  }

  /** A message of this browser: whether it is new to the log. */
  isNew(payload: Json): boolean {
    const text = JSON.stringify(payload);
    if (take(this.streamed, text)) return false;
    add(this.logged, text);
    return true;
  }

  /** A message from the stream. */
  posted(message: PostedMessage): void {
    this.last = message.number;
    if (message.message !== null && message.after >= this.ignoredBefore) this.waiting.push(message);
  }

  /** Messages of other clients that come after this event and before the next one. */
  due(eventId: number): PostedMessage[] {
    const due: PostedMessage[] = [];
    while (this.waiting[0] && this.waiting[0].after <= eventId) {
      const message = this.waiting.shift()!;
      const text = JSON.stringify(message.message);
      if (take(this.logged, text)) continue;
      add(this.streamed, text);
      due.push(message);
    }
    return due;
  }
}

function add(counts: Map<string, number>, text: string): void {
  counts.set(text, (counts.get(text) ?? 0) + 1);
}

function take(counts: Map<string, number>, text: string): boolean {
  const count = counts.get(text) ?? 0;
  if (count > 1) counts.set(text, count - 1);
  else counts.delete(text);
  return count > 0;
}
