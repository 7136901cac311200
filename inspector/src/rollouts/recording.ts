/** A recorded session at a position: the rows of its first messages. Nothing in it can be answered. */

import type { Conversation } from "../fold/chat/conversation";
import type { Row } from "../fold/chat/rows";
import type { LoggedMessage } from "../fold/message";
import { SessionFold } from "../fold/sessionFold";

export interface RecordingSnapshot {
  conversation: Conversation;
  rows: readonly Row[];
  position: number;
}

export class Recording {
  private fold = new SessionFold();
  private folded = 0;
  private current: RecordingSnapshot;

  constructor(readonly messages: readonly LoggedMessage[]) {
    this.current = this.at(messages.length);
  }

  get length(): number {
    return this.messages.length;
  }

  /** Milliseconds from the first message to the one before a position. */
  elapsed(position: number): number {
    const [first, last] = [this.messages[0], this.messages[position - 1]];
    return first && last ? Math.max(0, last.time - first.time) : 0;
  }

  /** Milliseconds until the next message. */
  pause(position: number): number {
    return this.elapsed(position + 1) - this.elapsed(position);
  }

  snapshot = (): RecordingSnapshot => this.current;

  /** Show the first `position` messages. Going back reads them again from the first one. */
  at(position: number): RecordingSnapshot {
    if (position < this.folded) {
      this.fold = new SessionFold();
      this.folded = 0;
    }
    for (; this.folded < position; this.folded += 1) this.fold.add(this.messages[this.folded]!);
    if (position === this.messages.length) this.fold.endRun();
    this.fold.publish();
    this.current = { conversation: this.fold.conversation, rows: this.fold.rows, position };
    return this.current;
  }

  answer(): Promise<void> {
    return Promise.reject(new Error("a recorded session cannot be answered"));
  }
}
