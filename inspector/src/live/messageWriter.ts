/** Stores messages in batches: a transaction for each of hundreds of updates a second would be too many. */

import type { History } from "../storage/history";
import type { StoredMessage } from "./message";

const BATCH_DELAY_MS = 250;

export class MessageWriter {
  private batch: StoredMessage[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly history: History) {}

  add(message: StoredMessage): void {
    this.batch.push(message);
    this.timer ??= setTimeout(() => this.flush(), BATCH_DELAY_MS);
  }

  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const batch = this.batch;
    this.batch = [];
    if (batch.length === 0) return;
    // A full disk must not stop the conversation: the server still holds the events and replays them.
    this.history.addMessages(batch).catch((error: unknown) => console.warn("history not stored", error));
  }
}
