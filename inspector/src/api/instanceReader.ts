/**
 * What a stream tells about one instance: numbered messages, gaps, what clients posted, and times. It knows from
 * where to read on, and belongs to the group of streams that reads for it.
 * The server tells the time of messages in an event behind them, so messages wait for it.
 */

import type { EventSourceMessage } from "eventsource-parser";
import type { PostedMessage } from "../instance/clientMessages";

export type StreamState = "connecting" | "connected" | "reconnecting" | "gone" | "refused" | "closed";

export interface Gap {
  oldest: number;
  newest: number;
}

export interface StreamListener {
  /** `time` is the server's, in Unix milliseconds: null if it is not known, undefined if it was not told. */
  message(eventId: number, text: string, time: number | null | undefined): void;
  gap(gap: Gap): void;
  posted(message: PostedMessage): void;
  state(state: StreamState): void;
}

export interface ReaderGroup {
  remove(reader: InstanceReader): void;
  retryNow(): void;
}

export class InstanceReader {
  reconnects = 0;
  group: ReaderGroup | undefined;
  private state: StreamState | undefined;
  /** Messages that wait for their time. */
  private untimed: { id: number; text: string }[] = [];

  constructor(
    readonly serverId: string,
    public lastEventId: number,
    /** Number of the last message of a client that is known. */
    public lastPosted: number,
    private readonly listener: StreamListener,
  ) {}

  close(): void {
    this.group?.remove(this);
    this.changeTo("closed");
  }

  /** Skip the delay of a reconnect, for example when the user sent something. */
  retryNow(): void {
    this.group?.retryNow();
  }

  get waitsForTimes(): boolean {
    return this.untimed.length > 0;
  }

  /** A connection begins: what was left of the one before it is sent again. */
  begin(): void {
    this.untimed = [];
  }

  changeTo(state: StreamState): void {
    if (this.state === state || isFinal(this.state)) return;
    if (state === "reconnecting") this.reconnects += 1;
    this.state = state;
    this.listener.state(state);
  }

  take(event: EventSourceMessage): void {
    if (event.event === "client") {
      const message = JSON.parse(event.data) as PostedMessage;
      this.lastPosted = message.number;
      this.listener.posted(message);
      return;
    }
    if (event.event === "time") {
      const { number, timeMs } = JSON.parse(event.data) as { number: number; timeMs: number | null };
      this.deliver(number, timeMs);
      return;
    }
    if (event.event === "gap") {
      this.deliver(Infinity);
      const gap = JSON.parse(event.data) as Gap;
      this.lastEventId = Math.max(0, gap.oldest - 1);
      this.listener.gap(gap);
      return;
    }
    if ((event.event ?? "message") !== "message" || event.id === undefined) return;
    const id = Number(event.id);
    if (id > (this.untimed.at(-1)?.id ?? this.lastEventId)) this.untimed.push({ id, text: event.data });
  }

  /** Pass on the messages up to this one. */
  deliver(upTo: number, time?: number | null): void {
    const after = this.untimed.findIndex((message) => message.id > upTo);
    for (const { id, text } of this.untimed.splice(0, after < 0 ? this.untimed.length : after)) {
      // The stream may be closed by what a message leads to.
      if (isFinal(this.state)) return;
      this.lastEventId = id;
      this.listener.message(id, text, time);
    }
  }
}

function isFinal(state: StreamState | undefined): boolean {
  return state === "gone" || state === "refused" || state === "closed";
}
