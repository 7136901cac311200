/**
 * One server instance as this tab sees it: its log, its event stream, and the means to send.
 * Subscribers get a new `snapshot` at most once per animation frame, however fast messages arrive.
 */

import { AcpConnection } from "../api/acpConnection";
import { SERVER_PROBLEM } from "../api/errorCodes";
import type { EventStreams } from "../api/eventStreams";
import type { Http } from "../api/http";
import { ApiProblem } from "../api/problem";
import { acpPath } from "../api/server";
import type { AgentRequest } from "../fold/agentRequest";
import { withAnswerMeta } from "../fold/answerMeta";
import { parseJson, plainText, type Json, type JsonObject } from "../json";
import type { History } from "../storage/history";
import type { TabChannel } from "../storage/tabChannel";
import { DeliveryQueue } from "./deliveryQueue";
import { FollowedStream } from "./followedStream";
import { InstanceLog } from "./instanceLog";
import { SnapshotPublisher, type InstanceSnapshot } from "./snapshot";
import { promptNotSent, UnconfirmedPrompts, type ServerProgress } from "./unconfirmedPrompts";
import { unsupportedError } from "./unsupportedError";

export interface InstanceServices {
  http: Http;
  streams: EventStreams;
  history: History;
  tabs: TabChannel;
}

export class Instance {
  readonly connection: AcpConnection;
  readonly log: InstanceLog;
  readonly stream: FollowedStream;
  private readonly publisher: SnapshotPublisher;
  private readonly deliveries = new DeliveryQueue();
  private readonly unconfirmed = new UnconfirmedPrompts();
  private readonly stopFollowingTabs: () => void;

  /**
   * @param log key of the log, or undefined while the instance is being started
   * @param keepEvents store the agent's messages too: for sessions of this browser, not for watched instances
   */
  constructor(
    readonly services: InstanceServices,
    readonly serverId: string,
    log: string | undefined,
    keepEvents: boolean,
  ) {
    const { http, streams, history, tabs } = services;
    this.log = new InstanceLog(history, tabs, log, keepEvents, () => this.publisher.changed());
    this.stream = new FollowedStream(streams, serverId, () => this.log, {
      message: (eventId, text, time) => this.deliveries.deliver(() => this.received(eventId, text, time)),
      gap: (gap) => this.deliveries.deliver(() => this.log.missed(gap)),
      posted: (message) => this.deliveries.deliver(() => this.log.posted(message)),
      state: (state) => {
        if (state === "connected" || state === "gone") this.log.placeAfterReplay();
        this.publisher.changed();
      },
    });
    this.publisher = new SnapshotPublisher(this.log.fold, () => ({
      stream: this.stream.state,
      reconnects: this.stream.reconnects,
      lastEventId: this.log.lastEventId,
      gaps: this.log.gaps,
    }));
    this.connection = new AcpConnection(http, acpPath(serverId), {
      sent: (message) => this.log.sent(message),
      refused: (message, problem) => this.refused(message, problem),
    });
    this.stopFollowingTabs = this.log.followTabs();
  }

  readonly subscribe = (listener: () => void): (() => void) => this.publisher.subscribe(listener);

  readonly snapshot = (): InstanceSnapshot => this.publisher.current;

  /** Derive universal events from now on, earlier messages included. */
  async showUniversal(): Promise<void> {
    await this.loadMapper();
    this.publisher.changed();
  }

  /** The run is over: its open turns and requests end here, and nothing waits for its answers any more. */
  endRun(): void {
    this.log.endRun();
    this.connection.failAll(new ApiProblem("interrupted", 0, "Interrupted", "The agent's process is gone."));
    this.unconfirmed.clear();
  }

  request<T>(method: string, params: unknown): Promise<T> {
    this.stream.retryNow();
    return this.connection.request<T>(method, params);
  }

  /** Answer a request of the agent. Rejects if the server refuses the answer. */
  async answer(request: AgentRequest, result: JsonObject): Promise<void> {
    await this.loadMapper();
    const described = withAnswerMeta(request, result, this.log.fold.requestIds(request.id));
    await this.postAndLog({ jsonrpc: "2.0", id: request.id, result: described });
  }

  async notify(method: string, params: JsonObject): Promise<void> {
    await this.postAndLog({ jsonrpc: "2.0", method, params });
  }

  /** Resolves when everything seen so far can be read back from the history. */
  stored(): Promise<void> {
    return this.log.flush();
  }

  /** Show prompts that did not arrive, by what the server listed later, as failed. */
  settleUnconfirmed(server: ServerProgress, askedAt: number): void {
    for (const id of this.unconfirmed.settled(server, askedAt, this.log.lastEventId)) {
      if (!this.log.fold.isOpenTurn(id)) continue;
      const problem = promptNotSent();
      this.appendError(id, problem);
      this.connection.fail(id, problem);
    }
  }

  close(): void {
    this.stream.close();
    this.stopFollowingTabs();
    void this.log.flush();
  }

  private async loadMapper(): Promise<void> {
    const { UniversalMapper } = await import("../fold/universal/mapper");
    this.log.fold.attachMapper(new UniversalMapper(this.serverId));
  }

  private received(eventId: number, text: string, time: number | null | undefined): void {
    const payload = parseJson(text) ?? text;
    const reading = this.log.received(eventId, payload, time);
    this.connection.deliver(payload);
    // Only the tab that prompts refuses: several answers to one request would confuse the agent.
    const error = this.connection.hasPendingRequests ? unsupportedError(reading) : undefined;
    // A refusal that the server does not accept needs no report: the agent no longer waits for it.
    if (error) this.postAndLog(error).catch(() => undefined);
    this.log.addPosted();
    this.stream.arrived();
  }

  /** Log a message once the server accepted it, before what the agent says to it. */
  private async postAndLog(message: JsonObject): Promise<void> {
    const after = this.log.lastEventId;
    await this.deliveries.during(async () => {
      await this.connection.post(message);
      this.log.sent(message, after);
    });
  }

  /** Show a message that the server did not pass on like an error of the agent, so that its turn ends. */
  private refused(message: JsonObject, problem: ApiProblem): boolean {
    if (message.id === undefined) return true;
    if (problem.kind === "unreachable" && message.method === "session/prompt") {
      this.unconfirmed.add(plainText(message.id));
      return false;
    }
    this.appendError(message.id, problem);
    return true;
  }

  private appendError(id: Json, problem: ApiProblem): void {
    this.log.appendError(id, { code: SERVER_PROBLEM, message: problem.title, data: problem.message });
  }
}
