/**
 * One server instance as this tab sees it: the log of messages, the conversation derived from it, and the
 * ways to take part. Messages of the agent come from the event stream only, so their order is the server's;
 * what this browser sends is stored and told to the other tabs.
 *
 * Readers get a new `snapshot` at most once per animation frame, however fast messages arrive.
 */

import type { ClientContext } from "@agentclientprotocol/sdk";
import { AcpLink } from "../api/acpLink";
import { EventStream, type Gap, type StreamState } from "../api/eventStream";
import type { Http } from "../api/http";
import type { ApiProblem } from "../api/problem";
import { acpPath } from "../api/server";
import { EMPTY_LOG, reduce, type ReducedLog } from "../conversation/reduce";
import type { AgentRequest } from "../conversation/requests";
import type { Conversation } from "../conversation/types";
import type { Json, JsonObject } from "../json";
import type { History } from "../storage/history";
import type { Tabs } from "../storage/tabs";
import { fromStored, toStored, type LoggedMessage, type StoredMessage } from "./message";
import { MessageWriter } from "./messageWriter";
import { onNextFrame } from "./nextFrame";
import { refusal } from "./refusal";
import { whileVisible } from "./whileVisible";

export interface InstanceSnapshot {
  messages: readonly LoggedMessage[];
  /** How many of them there are: the list itself is extended in place. */
  count: number;
  conversation: Conversation;
  stream: StreamState;
  reconnects: number;
  lastEventId: number;
  gaps: number;
  problem?: ApiProblem;
}

export interface Surroundings {
  http: Http;
  history: History;
  tabs: Tabs;
}

export class Instance {
  readonly link: AcpLink;
  private readonly messages: LoggedMessage[] = [];
  private reduced: ReducedLog = EMPTY_LOG;
  private reducedCount = 0;
  private stream: EventStream | undefined;
  private streamState: StreamState = "closed";
  private problem: ApiProblem | undefined;
  private lastEventId = 0;
  private gaps = 0;
  private readonly writer: MessageWriter;
  private readonly unlisten: (() => void)[];
  private readonly listeners = new Set<() => void>();
  private current: InstanceSnapshot;
  private flushing = false;
  /** Own messages that belong behind events which the stream has yet to replay. */
  private waiting: StoredMessage[] = [];
  /** Sent before the log had a name to be stored under. */
  private unnamed: LoggedMessage[] = [];

  /**
   * @param log key of the log, or undefined while the instance is only being started
   * @param keepEvents store the agent's messages too: for sessions of this browser, not for mere watching
   */
  constructor(
    readonly around: Surroundings,
    readonly serverId: string,
    private log: string | undefined,
    private keepEvents: boolean,
  ) {
    this.writer = new MessageWriter(around.history);
    this.link = new AcpLink(around.http, acpPath(serverId), {
      sent: (message) => this.sent(message),
      refused: (message, problem) => this.refused(message, problem),
    });
    this.unlisten = [
      around.tabs.listen((news) => {
        if (news.type === "sent" && news.message.log === this.log)
          this.append(fromStored(news.message, this.messages.length));
      }),
      whileVisible(
        () => this.stream?.close(),
        () => this.stream && this.listen(),
      ),
    ];
    this.current = this.makeSnapshot();
  }

  get agent(): ClientContext {
    return this.link.agent;
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): InstanceSnapshot => this.current;

  /** Show what earlier lives of the instance left behind. */
  addHistory(stored: StoredMessage[]): void {
    for (const row of stored) this.append(fromStored(row, this.messages.length));
  }

  /** Restore the current life: own messages find their place among the events that the stream replays. */
  restore(stored: StoredMessage[]): void {
    const events = stored.filter((row) => row.sender === "agent" && !row.gap);
    this.lastEventId = events.at(-1)?.position ?? 0;
    this.addHistory(stored.filter((row) => row.position <= this.lastEventId));
    this.waiting = stored.filter((row) => row.position > this.lastEventId);
  }

  /** Restore what this browser sent to an instance it only watches: the stream replays all the rest. */
  restoreOwn(stored: StoredMessage[]): void {
    this.waiting = stored.filter((row) => row.sender === "client");
  }

  /** Give the log its name once the server has said when the instance was created. */
  name(log: string, keepEvents: boolean): void {
    for (const message of this.unnamed) this.writer.add(toStored(message, log));
    this.unnamed = [];
    this.log = log;
    this.keepEvents = keepEvents;
  }

  /** Take events up to this one as known. */
  continueAfter(eventId: number): void {
    this.lastEventId = eventId;
  }

  /** Read the stream from where the log ends. */
  listen(): void {
    this.stream?.close();
    this.stream = new EventStream(this.around.http, acpPath(this.serverId), this.lastEventId, {
      message: (eventId, text) => this.received(eventId, text),
      gap: (gap) => this.missed(gap),
      state: (state, problem) => this.streamChanged(state, problem),
    });
  }

  request<T>(method: string, params: unknown): Promise<T> {
    this.stream?.hurry();
    return this.link.request<T>(method, params);
  }

  /** Answer a request of the agent. Rejects if the server refuses the answer. */
  async answer(request: AgentRequest, result: JsonObject): Promise<void> {
    await this.postAndLog({ jsonrpc: "2.0", id: request.id, result });
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    await this.postAndLog({ jsonrpc: "2.0", method, params });
  }

  /** Resolves when everything seen so far can be read back from the history. */
  stored(): Promise<void> {
    return this.writer.flush();
  }

  close(): void {
    this.stream?.close();
    for (const stop of this.unlisten) stop();
    void this.writer.flush();
  }

  private received(eventId: number, text: string): void {
    this.lastEventId = eventId;
    while (this.waiting[0] && this.waiting[0].position < eventId) {
      this.append(fromStored(this.waiting.shift()!, this.messages.length));
    }
    const payload = parsed(text);
    const message: LoggedMessage = {
      n: this.messages.length,
      sender: "agent",
      eventId,
      after: eventId,
      time: Date.now(),
      payload,
    };
    this.append(message);
    if (this.log !== undefined && this.keepEvents) this.writer.add(toStored(message, this.log));
    this.link.deliver(payload);
    const refused = this.link.isWaiting ? refusal(payload) : undefined;
    // Only the tab that prompts says no: several answers to one request would confuse the agent.
    if (refused)
      void this.link.post(refused).then(
        () => this.sent(refused),
        () => undefined,
      );
  }

  private missed(gap: Gap): void {
    this.gaps += 1;
    const after = Math.max(0, gap.oldest - 1);
    this.append({ n: this.messages.length, sender: "agent", after, time: Date.now(), payload: null, gap });
  }

  /** Logged once it was accepted, in the place where it was sent: the agent may react before we hear of it. */
  private async postAndLog(message: JsonObject): Promise<void> {
    const after = this.lastEventId;
    await this.link.post(message);
    this.sent(message, after);
  }

  private sent(payload: JsonObject, after = this.lastEventId): void {
    const message: LoggedMessage = {
      n: this.messages.length,
      sender: "client",
      after,
      time: Date.now(),
      payload,
    };
    this.append(message);
    if (this.log === undefined) {
      this.unnamed.push(message);
      return;
    }
    const row = toStored(message, this.log);
    this.writer.add(row);
    void this.writer.flush();
    this.around.tabs.tell({ type: "sent", message: row });
  }

  /** The server did not pass a message on. Shown like an error of the agent, so the turn ends in the view. */
  private refused(message: JsonObject, problem: ApiProblem): void {
    if (message.id === undefined) return;
    const error = { code: -32000, message: problem.title, data: problem.message };
    const payload: JsonObject = { jsonrpc: "2.0", id: message.id, error };
    this.append({
      n: this.messages.length,
      sender: "agent",
      after: this.lastEventId,
      time: Date.now(),
      payload,
    });
  }

  private streamChanged(state: StreamState, problem?: ApiProblem): void {
    this.streamState = state;
    this.problem = problem;
    if (state === "connected" || state === "gone") this.releaseWaiting();
    this.changed();
  }

  /** The replay comes in the first chunks after connecting; what is then still waiting was sent last. */
  private releaseWaiting(): void {
    const rest = this.waiting;
    if (rest.length === 0) return;
    setTimeout(() => {
      for (const row of rest)
        if (this.waiting.includes(row)) this.append(fromStored(row, this.messages.length));
      this.waiting = this.waiting.filter((row) => !rest.includes(row));
    }, 500);
  }

  private append(message: LoggedMessage): void {
    this.messages.push(message);
    this.changed();
  }

  private changed(): void {
    if (this.flushing) return;
    this.flushing = true;
    onNextFrame(() => {
      this.flushing = false;
      this.reduced = reduce(this.reduced, this.messages.slice(this.reducedCount));
      this.reducedCount = this.messages.length;
      this.current = this.makeSnapshot();
      for (const listener of this.listeners) listener();
    });
  }

  private makeSnapshot(): InstanceSnapshot {
    return {
      messages: this.messages,
      count: this.reducedCount,
      conversation: this.reduced.conversation,
      stream: this.streamState,
      reconnects: this.stream?.reconnects ?? 0,
      lastEventId: this.lastEventId,
      gaps: this.gaps,
      ...(this.problem ? { problem: this.problem } : {}),
    };
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
