/**
 * One server instance as this tab sees it: the fold over its log, its event stream, and the means to send.
 * Messages of the agent come from the event stream only, so their order is the server's; messages that this
 * browser sends are stored and passed on to its other tabs; those of other clients come from the stream too.
 *
 * Subscribers get a new `snapshot` at most once per animation frame, however fast messages arrive.
 */

import { AcpConnection } from "../api/acpConnection";
import type { EventStreams } from "../api/eventStreams";
import type { Http } from "../api/http";
import type { Gap, InstanceReader, StreamState } from "../api/instanceReader";
import { ApiProblem } from "../api/problem";
import { acpPath } from "../api/server";
import type { AgentRequest } from "../fold/agentRequest";
import { withAnswerMeta } from "../fold/answerMeta";
import type { Conversation } from "../fold/chat/conversation";
import type { Row } from "../fold/chat/rows";
import { fromStored, toStored, type LoggedMessage, type StoredMessage } from "../fold/message";
import type { Reading } from "../fold/messageReader";
import { SessionFold, type LogEntry } from "../fold/sessionFold";
import type { UniversalEvent } from "../fold/universal/universalEvent";
import { parseJson, plainText, type Json, type JsonObject } from "../json";
import type { History } from "../storage/history";
import type { TabChannel } from "../storage/tabChannel";
import { ClientMessages, type PostedMessage } from "./clientMessages";
import { MessageWriter } from "./messageWriter";
import { pauseWhileHidden } from "./pauseWhileHidden";
import { scheduleFrame } from "./scheduleFrame";
import { unsupportedError } from "./unsupportedError";

export interface InstanceSnapshot {
  /** Extended in place: only the first `entryCount` belong to this snapshot. */
  entries: readonly LogEntry[];
  entryCount: number;
  /** Extended in place like `entries`; empty until `showUniversal` was called. */
  universalEvents: readonly UniversalEvent[];
  universalCount: number;
  conversation: Conversation;
  rows: readonly Row[];
  /** Index of the row of the oldest pending request, or -1. */
  pendingRow: number;
  stream: StreamState;
  reconnects: number;
  lastEventId: number;
  gaps: number;
}

export interface InstanceServices {
  http: Http;
  streams: EventStreams;
  history: History;
  tabs: TabChannel;
}

/** Time after connecting in which the server's replay arrives. */
const REPLAY_MS = 500;
/** Time for the events that a background session is behind. */
const CATCH_UP_LIMIT_MS = 10_000;
/** Time for which the agent's messages wait for the answer of a POST. */
const HELD_MS = 1000;
/** JSON-RPC code for a message that the server refused. */
const SERVER_ERROR = -32099;

export class Instance {
  readonly connection: AcpConnection;
  private readonly fold = new SessionFold();
  private readonly clients = new ClientMessages();
  private stream: InstanceReader | undefined;
  private streamState: StreamState = "closed";
  private lastEventId = 0;
  private gaps = 0;
  private readonly writer: MessageWriter;
  private readonly unsubscribe: (() => void)[];
  private readonly listeners = new Set<() => void>();
  private current: InstanceSnapshot;
  private frameScheduled = false;
  /** Stored messages of this browser that follow events which the stream has yet to replay. */
  private unplaced: StoredMessage[] = [];
  /** Whether the stream is wanted: it is closed in a hidden tab and opened again. */
  private following = false;
  /** POSTs under way, and what the stream delivered meanwhile. */
  private posting = 0;
  private releasing = false;
  private readonly held: (() => void)[] = [];
  /** Called after each event, for code that waits for one of them. */
  private readonly arrivals = new Set<() => void>();
  /** Prompts whose POST broke, by id, with the time: the server may have got them. */
  private readonly unconfirmed = new Map<string, number>();
  /** Messages sent before the key of the log was known. */
  private unstored: LoggedMessage[] = [];

  /**
   * @param log key of the log, or undefined while the instance is being started
   * @param keepEvents store the agent's messages too: for sessions of this browser, not for watched instances
   */
  constructor(
    readonly services: InstanceServices,
    readonly serverId: string,
    private log: string | undefined,
    private keepEvents: boolean,
  ) {
    this.writer = new MessageWriter(services.history);
    this.connection = new AcpConnection(services.http, acpPath(serverId), {
      sent: (message) => this.sent(message),
      refused: (message, problem) => this.refused(message, problem),
    });
    this.unsubscribe = [
      services.tabs.subscribe((notice) => {
        if (notice.type === "sent" && notice.message.log === this.log) this.addHistory([notice.message]);
      }),
      pauseWhileHidden(
        () => this.stream?.close(),
        () => this.following && this.listen(),
      ),
    ];
    this.current = this.makeSnapshot();
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): InstanceSnapshot => this.current;

  /** Derive universal events from now on, earlier messages included. */
  async showUniversal(): Promise<void> {
    await this.loadMapper();
    this.changed();
  }

  /** Add stored messages at the end of the log. */
  addHistory(stored: readonly StoredMessage[]): void {
    for (const row of stored) {
      if (row.sender === "agent" || this.clients.isNew(row.payload))
        this.append(fromStored(row, this.fold.entries.length));
    }
  }

  /** Restore the current run: messages of this browser are placed among the events that the stream replays. */
  restore(stored: readonly StoredMessage[]): void {
    const events = stored.filter((row) => row.sender === "agent" && !row.gap);
    this.lastEventId = events.at(-1)?.position ?? 0;
    this.clients.restart(this.lastEventId);
    this.addHistory(stored.filter((row) => row.position <= this.lastEventId));
    this.unplaced = stored.filter((row) => row.position > this.lastEventId);
  }

  /** Restore what this browser sent to a watched instance; the stream replays everything else. */
  restoreSent(stored: readonly StoredMessage[]): void {
    this.unplaced = stored.filter((row) => row.sender === "client");
  }

  /** Set the key of the log, which contains the creation time that the server reports. */
  storeUnder(log: string, keepEvents: boolean): void {
    for (const message of this.unstored) this.writer.add(toStored(message, log));
    this.unstored = [];
    this.log = log;
    this.keepEvents = keepEvents;
  }

  /** The run is over: its open turns and requests end here, and nothing waits for its answers any more. */
  endRun(): void {
    this.addHistory(this.unplaced.splice(0));
    this.fold.endRun();
    this.connection.failAll(new ApiProblem("interrupted", 0, "Interrupted", "The agent's process is gone."));
    this.unconfirmed.clear();
    this.clients.restart(this.lastEventId);
    this.changed();
  }

  /** A run with a new numbering follows. */
  startNumbering(): void {
    this.lastEventId = 0;
    this.clients.restart(0);
  }

  /** Read the stream from where the log ends, and go on until `pause`. */
  listen(): void {
    this.following = true;
    this.stream?.close();
    const { streams } = this.services;
    this.stream = streams.read(this.serverId, this.lastEventId, this.clients.last, {
      message: (eventId, text, time) => this.received(eventId, text, time),
      gap: (gap) => this.missed(gap),
      posted: (message) => this.posted(message),
      state: (state) => this.streamChanged(state),
    });
  }

  /** Read the stream from now on, unless it is read already. */
  follow(): void {
    if (!this.following) this.listen();
  }

  /** Close the stream; `catchUp` reads what happens meanwhile. */
  pause(): void {
    this.following = false;
    this.stream?.close();
    this.stream = undefined;
  }

  /** Wait until this event was read, opening the stream for it if it is not open. */
  async catchUp(eventId: number, limitMs = CATCH_UP_LIMIT_MS): Promise<void> {
    if (this.lastEventId >= eventId) return;
    const opened = !this.stream || this.streamState === "closed";
    if (opened) this.listen();
    this.following = !opened;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.arrivals.delete(look);
        resolve();
      };
      const look = () => {
        if (this.lastEventId >= eventId || this.streamState === "gone" || this.streamState === "refused")
          done();
      };
      const timer = setTimeout(done, limitMs);
      this.arrivals.add(look);
      look();
    });
    // The session may have been opened meanwhile, and its stream is then needed.
    if (opened && !this.following) this.pause();
  }

  request<T>(method: string, params: unknown): Promise<T> {
    this.stream?.retryNow();
    return this.connection.request<T>(method, params);
  }

  /** Answer a request of the agent. Rejects if the server refuses the answer. */
  async answer(request: AgentRequest, result: JsonObject): Promise<void> {
    await this.loadMapper();
    const described = withAnswerMeta(request, result, this.fold.requestIds(request.id));
    await this.postAndLog({ jsonrpc: "2.0", id: request.id, result: described });
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    await this.postAndLog({ jsonrpc: "2.0", method, params });
  }

  /** Resolves when everything seen so far can be read back from the history. */
  stored(): Promise<void> {
    return this.writer.flush();
  }

  close(): void {
    this.following = false;
    this.stream?.close();
    for (const stop of this.unsubscribe) stop();
    void this.writer.flush();
  }

  private async loadMapper(): Promise<void> {
    const { UniversalMapper } = await import("../fold/universal/mapper");
    this.fold.attachMapper(new UniversalMapper(this.serverId));
  }

  private received(eventId: number, text: string, time: number | null | undefined): void {
    if (this.posting > 0 && !this.releasing) {
      this.held.push(() => this.received(eventId, text, time));
      return;
    }
    this.lastEventId = eventId;
    while (this.unplaced[0] && this.unplaced[0].position < eventId) this.addHistory([this.unplaced.shift()!]);
    const payload = parseJson(text) ?? text;
    const message = this.message(
      { sender: "agent", eventId, after: eventId, payload },
      time === null ? 0 : time,
    );
    const reading = this.append(message);
    if (this.log !== undefined && this.keepEvents) this.writer.add(toStored(message, this.log));
    this.connection.deliver(payload);
    // Only the tab that prompts refuses: several answers to one request would confuse the agent.
    const error = this.connection.hasPendingRequests ? unsupportedError(reading) : undefined;
    // A refusal that the server does not accept needs no report: the agent no longer waits for it.
    if (error) this.postAndLog(error).catch(() => undefined);
    this.addPosted();
    for (const look of this.arrivals) look();
  }

  private posted(message: PostedMessage): void {
    if (this.posting > 0 && !this.releasing) {
      this.held.push(() => this.posted(message));
      return;
    }
    this.clients.posted(message);
    this.addPosted();
  }

  /** Add what other clients posted before the next event. */
  private addPosted(): void {
    for (const { after, timeMs, message: payload } of this.clients.due(this.lastEventId)) {
      const message = { ...this.message({ sender: "client", after, payload }), time: timeMs };
      this.append(message);
      if (this.log !== undefined && this.keepEvents) this.writer.add(toStored(message, this.log));
    }
  }

  private missed(gap: Gap): void {
    if (this.posting > 0 && !this.releasing) {
      this.held.push(() => this.missed(gap));
      return;
    }
    this.gaps += 1;
    const after = Math.max(0, gap.oldest - 1);
    this.append(this.message({ sender: "agent", after, payload: null, gap }));
  }

  /**
   * Log a message once the server accepted it. The agent may react before the answer of the POST is here, so
   * its messages are held back meanwhile, for a second at most.
   */
  private async postAndLog(message: JsonObject): Promise<void> {
    const after = this.lastEventId;
    this.posting += 1;
    const timer = setTimeout(() => this.release(), HELD_MS);
    try {
      await this.connection.post(message);
      this.sent(message, after);
    } finally {
      clearTimeout(timer);
      this.posting -= 1;
      if (this.posting === 0) this.release();
    }
  }

  private release(): void {
    this.releasing = true;
    for (const deliver of this.held.splice(0)) deliver();
    this.releasing = false;
  }

  private sent(payload: JsonObject, after = this.lastEventId): void {
    if (!this.clients.isNew(payload)) return;
    const message = this.message({ sender: "client", after, payload });
    this.append(message);
    if (this.log === undefined) {
      this.unstored.push(message);
      return;
    }
    const row = toStored(message, this.log);
    this.writer.add(row);
    void this.writer.flush();
    this.services.tabs.post({ type: "sent", message: row });
  }

  /** Show a message that the server did not pass on like an error of the agent, so that its turn ends. */
  private refused(message: JsonObject, problem: ApiProblem): boolean {
    if (message.id === undefined) return true;
    if (problem.kind === "unreachable" && message.method === "session/prompt") {
      this.unconfirmed.set(plainText(message.id), Date.now());
      return false;
    }
    this.appendError(message.id, problem);
    return true;
  }

  /**
   * Decide about prompts whose POST broke, with what the server listed later: if it waits for no answer, and
   * its log has none, the prompt did not arrive.
   */
  settleUnconfirmed(server: { pendingRequests: number; lastEventId: number }, askedAt: number): void {
    for (const [id, failedAt] of this.unconfirmed) {
      if (askedAt < failedAt || server.lastEventId > this.lastEventId) continue;
      this.unconfirmed.delete(id);
      if (server.pendingRequests > 0 || !this.fold.isOpenTurn(id)) continue;
      const problem = new ApiProblem(
        "unreachable",
        0,
        "The prompt did not reach the agent",
        "The connection broke.",
      );
      this.appendError(id, problem);
      this.connection.fail(id, problem);
    }
  }

  private appendError(id: Json, problem: ApiProblem): void {
    const error = { code: SERVER_ERROR, message: problem.title, data: problem.message };
    const payload: JsonObject = { jsonrpc: "2.0", id, error };
    this.append(this.message({ sender: "agent", after: this.lastEventId, payload }));
  }

  private streamChanged(state: StreamState): void {
    this.streamState = state;
    if (state === "connected" || state === "gone") this.placeAfterReplay();
    for (const look of this.arrivals) look();
    this.changed();
  }

  /** Append what is unplaced once the replay is over: it was sent after the last event. */
  private placeAfterReplay(): void {
    const rest = this.unplaced;
    if (rest.length === 0) return;
    setTimeout(() => {
      this.addHistory(rest.filter((row) => this.unplaced.includes(row)));
      this.unplaced = this.unplaced.filter((row) => !rest.includes(row));
    }, REPLAY_MS);
  }

  private message(fields: Omit<LoggedMessage, "n" | "time">, time = Date.now()): LoggedMessage {
    return { n: this.fold.entries.length, time, ...fields };
  }

  private append(message: LoggedMessage): Reading {
    const reading = this.fold.add(message);
    this.changed();
    return reading;
  }

  private changed(): void {
    if (this.frameScheduled) return;
    this.frameScheduled = true;
    scheduleFrame(() => {
      this.frameScheduled = false;
      this.fold.publish();
      const unfinished = this.fold.mapUniversal();
      this.current = this.makeSnapshot();
      for (const listener of this.listeners) listener();
      if (unfinished) this.changed();
    });
  }

  private makeSnapshot(): InstanceSnapshot {
    const { entries, universalEvents, conversation, rows, pendingRow } = this.fold;
    return {
      entries,
      entryCount: entries.length,
      universalEvents,
      universalCount: universalEvents.length,
      conversation,
      rows,
      pendingRow,
      stream: this.streamState,
      reconnects: this.stream?.reconnects ?? 0,
      lastEventId: this.lastEventId,
      gaps: this.gaps,
    };
  }
}
