/**
 * One connection that reads the streams of one or several instances, with fetch because EventSource cannot send
 * the token as a header. It reconnects until its last reader has left, at the position of each reader.
 *
 * The list of instances is part of the address, so a connection is opened again when a reader joins; readers that
 * come in the same moment are taken together.
 */

import { createParser, type EventSourceMessage, type EventSourceParser } from "eventsource-parser";
import type { CallOptions, Http } from "./http";
import type { InstanceReader } from "./instanceReader";
import { ApiProblem, problemOf } from "./problem";
import { nextTask } from "./nextTask";
import { acpPath } from "./server";

/** The server sends a heartbeat every 15 s; three missed ones mean the connection is dead. */
const SILENCE_LIMIT_MS = 50_000;
/** Time for the head of the response. */
const CONNECT_LIMIT_MS = 15_000;
const FIRST_RETRY_MS = 150;
const LONGEST_RETRY_MS = 5_000;
/** Messages whose time has not arrived after this long are passed on without it. */
const TIME_LIMIT_MS = 500;
const GATHER_MS = 20;
const PIECE_CHARS = 16_384;
const LONGEST_TASK_MS = 25;
const INCLUDED = "client,time";
export const SHARED_PATH = "/v1/events";

type Readers = ReadonlyMap<string, InstanceReader>;

export class StreamGroup {
  readonly readers = new Set<InstanceReader>();
  private connection = new AbortController();
  private running = false;
  private isOpen = false;
  /** Readers were added after the connection was opened, so their instances are not on it yet. */
  private joined = false;
  private endDelay: (() => void) | undefined;
  private keepsPosted = true;

  /** @param single reads one instance from its own address; otherwise all readers share `GET /v1/events` */
  constructor(
    private readonly http: Http,
    private readonly single: boolean,
  ) {}

  reads(serverId: string): boolean {
    return [...this.readers].some((reader) => reader.serverId === serverId);
  }

  add(reader: InstanceReader): void {
    reader.group = this;
    this.readers.add(reader);
    reader.changeTo("connecting");
    this.joined = true;
    if (this.isOpen) this.connection.abort();
    this.endDelay?.();
    if (!this.running) void this.run();
  }

  remove(reader: InstanceReader): void {
    this.readers.delete(reader);
    if (this.readers.size > 0) return;
    this.connection.abort();
    this.endDelay?.();
  }

  retryNow(): void {
    this.endDelay?.();
  }

  private async run(): Promise<void> {
    this.running = true;
    let delay = FIRST_RETRY_MS;
    while (this.readers.size > 0) {
      if (!this.single) await new Promise((resolve) => setTimeout(resolve, GATHER_MS));
      this.joined = false;
      const readers: Readers = new Map([...this.readers].map((reader) => [reader.serverId, reader]));
      try {
        await this.readOnce(readers, () => (delay = FIRST_RETRY_MS));
      } catch (error) {
        if (error instanceof ApiProblem && this.isDecided(error)) continue;
      } finally {
        this.isOpen = false;
      }
      if (this.joined) continue;
      for (const reader of this.readers) reader.changeTo("reconnecting");
      if (this.readers.size === 0) break;
      await this.wait(delay);
      delay = Math.min(delay * 2, LONGEST_RETRY_MS);
    }
    this.running = false;
  }

  private async readOnce(readers: Readers, connected: () => void): Promise<void> {
    if (readers.size === 0) return;
    this.connection = new AbortController();
    for (const reader of readers.values()) reader.begin();
    const response = await this.http.send(...this.request(readers));
    if (!response.ok || !response.body) throw await problemOf(response);
    connected();
    // Instances that were added while it was opened are not on it: it is opened again.
    if (this.joined) this.connection.abort();
    this.isOpen = true;
    for (const reader of readers.values()) if (this.readers.has(reader)) reader.changeTo("connected");
    let current = this.single ? [...readers.values()][0] : undefined;
    const parser = createParser({
      onEvent: (event) => {
        if (event.event === "server") current = readers.get(serverOf(event));
        else if (event.event === "end") this.ended(readers.get(serverOf(event)));
        else if (current && this.readers.has(current)) current.take(event);
      },
    });
    const reading = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const silence = setTimeout(() => this.connection.abort(), SILENCE_LIMIT_MS);
      const late = this.deliverLate(readers);
      const { done, value } = await reading.read().finally(() => {
        clearTimeout(silence);
        clearTimeout(late);
      });
      if (done) return;
      await this.feed(parser, value);
    }
  }

  /** A replay brings thousands of events at once: they are read in pieces, between which the page is drawn. */
  private async feed(parser: EventSourceParser, text: string): Promise<void> {
    let begun = performance.now();
    for (let at = 0; at < text.length; at += PIECE_CHARS) {
      if (performance.now() - begun > LONGEST_TASK_MS) {
        await nextTask();
        this.connection.signal.throwIfAborted();
        begun = performance.now();
      }
      parser.feed(text.slice(at, at + PIECE_CHARS));
    }
  }

  private request(readers: Readers): [path: string, options: CallOptions] {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    const options = { headers, signal: this.connection.signal, timeoutMs: CONNECT_LIMIT_MS, quiet: true };
    const include = this.keepsPosted ? INCLUDED : "time";
    const [only] = readers.values();
    if (!this.single || !only) {
      const servers = [...readers.values()].map((reader) => this.position(reader)).join(",");
      return [SHARED_PATH, { ...options, query: { servers, include } }];
    }
    if (only.lastEventId > 0) headers["last-event-id"] = String(only.lastEventId);
    const clientAfter = this.keepsPosted ? String(only.lastPosted) : undefined;
    return [acpPath(only.serverId), { ...options, query: { include, clientAfter } }];
  }

  private position({ serverId, lastEventId, lastPosted }: InstanceReader): string {
    const name = serverId.replaceAll("%", "%25").replaceAll(",", "%2C").replaceAll(":", "%3A");
    // An id alone is read from the oldest event that is kept.
    if (lastEventId === 0 && lastPosted === 0) return name;
    return `${name}:${lastEventId}${this.keepsPosted ? `:${lastPosted}` : ""}`;
  }

  private deliverLate(readers: Readers): ReturnType<typeof setTimeout> | undefined {
    const waiting = [...readers.values()].filter((reader) => reader.waitsForTimes);
    if (waiting.length === 0) return undefined;
    return setTimeout(() => {
      for (const reader of waiting) if (this.readers.has(reader)) reader.deliver(Infinity);
    }, TIME_LIMIT_MS);
  }

  /** The server has closed this instance, or does not have it. */
  private ended(reader: InstanceReader | undefined): void {
    if (!reader || !this.readers.delete(reader)) return;
    reader.deliver(Infinity);
    reader.changeTo("gone");
  }

  /** Whether the problem is dealt with: another attempt in the same way would get the same answer. */
  private isDecided(problem: ApiProblem): boolean {
    if (problem.status === 400 && this.keepsPosted) {
      this.keepsPosted = false;
      return true;
    }
    if (![400, 401, 403, 404, 421].includes(problem.status)) return false;
    const readers = [...this.readers];
    this.readers.clear();
    const state = this.single && problem.status === 404 ? "gone" : "refused";
    for (const reader of readers) reader.changeTo(state);
    return true;
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

function serverOf(event: EventSourceMessage): string {
  return (JSON.parse(event.data) as { serverId: string }).serverId;
}
