/** The event stream of an instance: read from where the log ends, closed in hidden tabs, opened to catch up. */

import type { EventStreams } from "../api/eventStreams";
import type { InstanceReader, StreamListener, StreamState } from "../api/instanceReader";
import { pauseWhileHidden } from "./pauseWhileHidden";

/** Time for the events that a background session is behind. */
const CATCH_UP_LIMIT_MS = 10_000;

/** What has been read of the stream. */
export interface Position {
  lastEventId: number;
  /** Number of the last message of a client. */
  lastPosted: number;
}

export class FollowedStream {
  state: StreamState = "closed";
  private reader: InstanceReader | undefined;
  /** Whether the stream is wanted: it is closed in a hidden tab and opened again. */
  private wanted = false;
  /** Called after each event, for code that waits for one of them. */
  private readonly arrivals = new Set<() => void>();
  private readonly stopWatchingTab: () => void;

  constructor(
    private readonly streams: EventStreams,
    private readonly serverId: string,
    private readonly position: () => Position,
    private readonly listener: StreamListener,
  ) {
    this.stopWatchingTab = pauseWhileHidden(
      () => this.reader?.close(),
      () => this.wanted && this.listen(),
    );
  }

  get reconnects(): number {
    return this.reader?.reconnects ?? 0;
  }

  /** Read the stream from where the log ends, and go on until `pause`. */
  listen(): void {
    this.wanted = true;
    this.reader?.close();
    const { lastEventId, lastPosted } = this.position();
    this.reader = this.streams.read(this.serverId, lastEventId, lastPosted, {
      ...this.listener,
      state: (state) => {
        this.state = state;
        this.listener.state(state);
        this.arrived();
      },
    });
  }

  /** Read the stream from now on, unless it is read already. */
  follow(): void {
    if (!this.wanted) this.listen();
  }

  /** Close the stream; `catchUp` reads what happens meanwhile. */
  pause(): void {
    this.wanted = false;
    this.reader?.close();
    this.reader = undefined;
  }

  /** An event was added to the log. */
  arrived(): void {
    for (const look of this.arrivals) look();
  }

  /** Wait until this event was read, opening the stream for it if it is not open. */
  async catchUp(eventId: number, limitMs = CATCH_UP_LIMIT_MS): Promise<void> {
    if (this.position().lastEventId >= eventId) return;
    const opened = !this.reader || this.state === "closed";
    if (opened) this.listen();
    this.wanted = !opened;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.arrivals.delete(look);
        resolve();
      };
      const look = () => {
        const over = this.state === "gone" || this.state === "refused";
        if (over || this.position().lastEventId >= eventId) done();
      };
      const timer = setTimeout(done, limitMs);
      this.arrivals.add(look);
      look();
    });
    // The session may have been opened meanwhile, and its stream is then needed.
    if (opened && !this.wanted) this.pause();
  }

  /** Skip the delay of a reconnect. */
  retryNow(): void {
    this.reader?.retryNow();
  }

  close(): void {
    this.wanted = false;
    this.reader?.close();
    this.stopWatchingTab();
  }
}
