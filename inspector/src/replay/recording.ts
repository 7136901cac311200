/** A recorded session at a position: the rows of its first messages. Nothing in it can be answered. */

import type { Conversation } from "../fold/chat/conversation";
import type { Row } from "../fold/chat/rows";
import type { LoggedMessage } from "../fold/message";
import { SessionFold } from "../fold/sessionFold";
import { textAt } from "../json";

/** A wait for a model or a tool is not played to its end. */
const LONGEST_PAUSE_MS = 1000;
/** Between messages of a recording without times. */
const UNTIMED_PAUSE_MS = 100;

export interface RecordingSnapshot {
  conversation: Conversation;
  rows: readonly Row[];
  position: number;
}

export class Recording {
  /** Numbers of messages before which a prompt was sent: places to go to. */
  readonly prompts: readonly number[];
  private fold = new SessionFold();
  private folded = 0;
  private current: RecordingSnapshot;
  /** When each message is played, in milliseconds from the first. */
  private readonly playedAt: Float64Array;
  private readonly elapsedMs: Float64Array;

  /** @param isOver the session ended after the last message; what is open then was interrupted */
  constructor(
    readonly messages: readonly LoggedMessage[],
    private readonly isOver = true,
  ) {
    this.prompts = messages.flatMap(({ payload }, at) =>
      textAt(payload, "method") === "session/prompt" ? [at] : [],
    );
    this.playedAt = new Float64Array(messages.length);
    this.elapsedMs = new Float64Array(messages.length);
    const timed = messages.some((message) => message.time !== messages[0]?.time);
    for (let at = 1; at < messages.length; at += 1) {
      const [before, time] = [this.elapsedMs[at - 1]!, messages[at]!.time];
      // The clocks of server and browser differ, and 0 stands for a time that is not known.
      this.elapsedMs[at] = time > 0 ? Math.max(before, time - this.firstTime) : before;
      const pause = timed ? Math.min(this.elapsedMs[at]! - before, LONGEST_PAUSE_MS) : UNTIMED_PAUSE_MS;
      this.playedAt[at] = this.playedAt[at - 1]! + pause;
    }
    this.current = this.at(messages.length);
  }

  get length(): number {
    return this.messages.length;
  }

  /** Milliseconds from the first message to the one before a position. */
  elapsed(position: number): number {
    return position > 0 ? this.elapsedMs[position - 1]! : 0;
  }

  /** The position after playing for some time from a position; long waits are cut short. */
  playedFrom(position: number, ms: number): number {
    const until = (position > 0 ? this.playedAt[position - 1]! : 0) + ms;
    let reached = position;
    while (reached < this.length && this.playedAt[reached]! <= until) reached += 1;
    return reached;
  }

  /** The position of the prompt before or after a position; the start or the end if there is none. */
  promptFrom(position: number, direction: -1 | 1): number {
    const positions = this.prompts.map((at) => at + 1);
    if (direction > 0) return positions.find((at) => at > position) ?? this.length;
    return positions.findLast((at) => at < position) ?? 0;
  }

  snapshot = (): RecordingSnapshot => this.current;

  /** Show the first `position` messages. Going back reads them again from the first one. */
  at(position: number): RecordingSnapshot {
    if (position < this.folded) {
      this.fold = new SessionFold();
      this.folded = 0;
    }
    for (; this.folded < position; this.folded += 1) this.fold.add(this.messages[this.folded]!);
    if (position === this.messages.length && this.isOver) this.fold.endRun();
    this.fold.publish();
    this.current = { conversation: this.fold.conversation, rows: this.fold.rows, position };
    return this.current;
  }

  answer(): Promise<void> {
    return Promise.reject(new Error("a recorded session cannot be answered"));
  }

  private get firstTime(): number {
    return this.messages.find((message) => message.time > 0)?.time ?? 0;
  }
}
