/** Stores messages in batches: a transaction for each of hundreds of updates a second would be too many. */

import type { History } from "../storage/history";
import type { StoredMessage } from "./message";

const BATCH_DELAY_MS = 250;

export class MessageWriter {
  private batch: StoredMessage[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stored: Promise<void> = Promise.resolve();

  constructor(private readonly history: History) {}

  add(message: StoredMessage): void {
    this.batch.push(message);
    this.timer ??= setTimeout(() => void this.flush(), BATCH_DELAY_MS);
  }

  /** Store what is waiting; the promise is kept when everything added so far has been stored. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const batch = this.batch;
    this.batch = [];
    if (batch.length > 0) {
      // A full disk must not stop the conversation: the server still holds the events and replays them.
      this.stored = this.stored
        .then(() => this.history.addMessages(batch))
        .catch((error: unknown) => console.warn("history not stored", error));
    }
    return this.stored;
  }
}
