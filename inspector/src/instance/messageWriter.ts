/** Stores messages in batches, because a transaction per message is too slow for hundreds of updates a second. */

import type { StoredMessage } from "../fold/message";
import type { History } from "../storage/history";

const BATCH_DELAY_MS = 250;
/** Messages that are copied in one task: 20,000 of a flood would hold the page for 200 ms. */
const TRANSACTION_MESSAGES = 1000;

export class MessageWriter {
  private batch: StoredMessage[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stored: Promise<void> = Promise.resolve();

  constructor(private readonly history: History) {}

  add(message: StoredMessage): void {
    this.batch.push(message);
    this.timer ??= setTimeout(() => void this.flush(), BATCH_DELAY_MS);
  }

  /** Store the batch; resolves when everything added so far has been stored. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const batch = this.batch;
    this.batch = [];
    for (let at = 0; at < batch.length; at += TRANSACTION_MESSAGES) {
      const part = batch.slice(at, at + TRANSACTION_MESSAGES);
      // A full disk must not stop the conversation: the server keeps the events and replays them.
      this.stored = this.stored
        .then(() => this.history.addMessages(part))
        .catch((error: unknown) => console.warn("history not stored", error));
    }
    return this.stored;
  }
}
