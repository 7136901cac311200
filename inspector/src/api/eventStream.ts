/**
 * The event stream of one server instance, read with fetch because EventSource cannot send the token as a header.
 * Reconnects with Last-Event-ID until closed; reports gaps, and a 404 as the end of the instance. What clients
 * posted is asked for too, and left out if the server does not keep it.
 * The server tells the time of messages in an event behind them, so messages wait for it.
 */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { PostedMessage } from "../instance/clientMessages";
import type { Http } from "./http";
import { ApiProblem, problemOf } from "./problem";

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
  state(state: StreamState, problem?: ApiProblem): void;
}

/** The server sends a heartbeat every 15 s; three missed ones mean the connection is dead. */
const SILENCE_LIMIT_MS = 50_000;
/** Time for the head of the response. */
const CONNECT_LIMIT_MS = 15_000;
const FIRST_RETRY_MS = 150;
const LONGEST_RETRY_MS = 5_000;
/** A message whose time has not arrived after this long is passed on without it. */
const TIME_LIMIT_MS = 500;

export class EventStream {
  private abort = new AbortController();
  private connection = new AbortController();
  private endDelay: (() => void) | undefined;
  /** Messages that wait for their time. */
  private untimed: { id: number; text: string }[] = [];
  private keepsPosted = true;
  reconnects = 0;

  constructor(
    private readonly http: Http,
    private readonly path: string,
    public lastEventId: number,
    /** Number of the last message of a client that is known. */
    private lastPosted: number,
    private readonly listener: StreamListener,
  ) {
    void this.run();
  }

  close(): void {
    this.abort.abort();
    this.connection.abort();
    this.endDelay?.();
  }

  /** Skip the delay of a reconnect, for example when the user sent something. */
  retryNow(): void {
    this.endDelay?.();
  }

  private async run(): Promise<void> {
    let delay = FIRST_RETRY_MS;
    this.listener.state("connecting");
    while (!this.abort.signal.aborted) {
      try {
        await this.readOnce(() => (delay = FIRST_RETRY_MS));
      } catch (error) {
        if (this.abort.signal.aborted) break;
        if (error instanceof ApiProblem && error.status === 400 && this.keepsPosted) {
          this.keepsPosted = false;
          continue;
        }
        if (error instanceof ApiProblem && isFinal(error)) {
          this.listener.state(error.status === 404 ? "gone" : "refused", error);
          return;
        }
      }
      if (this.abort.signal.aborted) break;
      this.reconnects += 1;
      this.listener.state("reconnecting");
      await this.wait(delay);
      delay = Math.min(delay * 2, LONGEST_RETRY_MS);
    }
    this.listener.state("closed");
  }

  private async readOnce(connected: () => void): Promise<void> {
    this.connection = new AbortController();
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (this.lastEventId > 0) headers["last-event-id"] = String(this.lastEventId);
    const response = await this.http.send(this.path, {
      headers,
      query: this.keepsPosted
        ? { include: "client,time", clientAfter: String(this.lastPosted) }
        : { include: "time" },
      signal: this.connection.signal,
      timeoutMs: CONNECT_LIMIT_MS,
      quiet: true,
    });
    if (!response.ok || !response.body) throw await problemOf(response);
    connected();
    this.listener.state("connected");
    const parser = createParser({ onEvent: (event) => this.take(event) });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    // What was left of a connection that broke is sent again.
    this.untimed = [];
    for (;;) {
      const timer = setTimeout(() => this.connection.abort(), SILENCE_LIMIT_MS);
      const late = this.untimed.length > 0 && setTimeout(() => this.deliver(Infinity), TIME_LIMIT_MS);
      const { done, value } = await reader.read().finally(() => {
        clearTimeout(timer);
        if (late) clearTimeout(late);
      });
      if (done) return;
      parser.feed(value);
    }
  }

  private take(event: EventSourceMessage): void {
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
  private deliver(upTo: number, time?: number | null): void {
    const after = this.untimed.findIndex((message) => message.id > upTo);
    for (const { id, text } of this.untimed.splice(0, after < 0 ? this.untimed.length : after)) {
      // The stream may be closed by what a message leads to.
      if (this.abort.signal.aborted) return;
      this.lastEventId = id;
      this.listener.message(id, text, time);
    }
  }

  private wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.endDelay = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

/** Whether another attempt would get the same answer: the instance is gone, or the token is wrong. */
function isFinal(problem: ApiProblem): boolean {
  return [400, 401, 403, 404, 421].includes(problem.status);
}
