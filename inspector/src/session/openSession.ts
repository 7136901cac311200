/**
 * A session of this browser that is open in this tab: its record, its instance and its state. The instance
 * follows its stream while the process lives. In a hidden tab, and in the background where the server has no stream
 * for several instances, it catches up after each poll of the list.
 */

import type { PromptResponse } from "@agentclientprotocol/sdk";
import type { AcpServer } from "../api/bodies";
import { Draft } from "../composer/draft";
import { promptBlocks } from "../composer/promptBlocks";
import { replayBlock } from "../fold/replayBlock";
import { Instance } from "../instance/instance";
import type { AppState } from "../state/appState";
import { Observable } from "../state/observable";
import type { ServersState } from "../state/serverList";
import type { SessionRecord } from "../storage/sessionRecord";
import { liveServer, resumeSession } from "./lifecycle";
import { removeSkills } from "./skills";
import { PromptQueue, type QueuedPrompt } from "./promptQueue";
import {
  canResume,
  isConnectionLost,
  isOver,
  NEW_SESSION,
  phaseOf,
  reduceSession,
  type SessionEvent,
  type SessionState,
} from "./sessionMachine";

export class OpenSession {
  readonly state: Observable<SessionState>;
  readonly queue: PromptQueue;
  readonly draft: Draft;
  private shown = false;
  private lastBehind = -1;
  /** Skills of the ended process that are being removed. */
  private skillsRemoved: Promise<void> | undefined;
  private readonly unsubscribe: (() => void)[];

  constructor(
    private readonly app: AppState,
    private record: SessionRecord,
    readonly instance: Instance,
  ) {
    this.state = new Observable<SessionState>(
      record.imported ? { ...NEW_SESSION, run: "gone" } : NEW_SESSION,
    );
    this.queue = new PromptQueue(record.id, (prompt) => this.prompt(prompt));
    this.draft = new Draft(record.id);
    this.unsubscribe = [
      app.servers.state.subscribe(() => this.listed(app.servers.state.get())),
      instance.subscribe(() => this.folded()),
    ];
    this.listed(app.servers.state.get());
    this.folded();
  }

  get id(): string {
    return this.record.id;
  }

  get session(): SessionRecord {
    return this.record;
  }

  /** The record changed, in this tab or in another one. */
  update(record: SessionRecord): void {
    this.record = record;
  }

  show(): void {
    this.shown = true;
    if (!this.record.imported && !isOver(this.state.get())) this.instance.stream.follow();
  }

  hide(): void {
    this.shown = false;
    this.rest();
  }

  /** Follow the stream, or read what happened since the last look. */
  async catchUp(server: AcpServer): Promise<void> {
    if (document.hidden) await this.instance.stream.catchUp(server.lastEventId);
    else if (this.shown || this.app.streams.shared) this.instance.stream.follow();
    else await this.instance.stream.catchUp(server.lastEventId);
  }

  /** A stream of its own is closed in the background: a browser has few connections. */
  private rest(): void {
    if (!this.shown && !this.app.streams.shared) this.instance.stream.pause();
  }

  private async prompt(prompt: QueuedPrompt): Promise<PromptResponse> {
    const { conversation } = this.instance.snapshot();
    const blocks = await promptBlocks(this.app.api, prompt, conversation.agentCapabilities);
    const { agentSessionId, forgotten } = this.record;
    // An agent that lost the conversation gets it with the prompt.
    const history = forgotten ? replayBlock(conversation.items) : undefined;
    void this.app.sessions.change(this.id, { lastActiveAt: Date.now(), forgotten: false });
    return this.instance.request("session/prompt", {
      sessionId: agentSessionId ?? "",
      prompt: history ? [history, ...blocks] : blocks,
    });
  }

  /** Start a fresh process; if the process lives after all, only read its stream again. */
  async resume(): Promise<void> {
    await this.app.servers.refresh();
    if (!canResume(this.state.get())) {
      this.instance.stream.listen();
      return;
    }
    this.dispatch({ type: "resuming" });
    try {
      await this.skillsRemoved;
      const record = await resumeSession(this.app, this.record, this.instance);
      this.record = record;
      await this.app.sessions.put(record);
      this.dispatch({ type: "resumed", at: Date.now() });
      this.folded();
    } catch (error) {
      this.dispatch({ type: "action-failed" });
      throw error;
    }
    this.rest();
  }

  /** End the process and everything it started. */
  async end(): Promise<void> {
    this.dispatch({ type: "ending" });
    try {
      await this.app.api.closeServer(this.record.serverId);
      this.skillsRemoved = removeSkills(this.app.http, this.record);
      this.dispatch({ type: "ended", at: Date.now() });
    } catch (error) {
      this.dispatch({ type: "action-failed" });
      throw error;
    }
    await this.app.servers.refresh().catch(() => undefined);
  }

  close(): void {
    for (const stop of this.unsubscribe) stop();
    this.instance.close();
  }

  private listed(list: ServersState): void {
    if (this.record.imported) return;
    if (list.problem) {
      this.dispatch({ type: "list-failed" });
      return;
    }
    if (!list.loaded) return;
    const server = liveServer(this.record, list.servers);
    // The log of an exited process is read to its end before its turns are taken as interrupted.
    const unread = server?.status === "exited" && server.lastEventId > this.instance.snapshot().lastEventId;
    if (unread && this.instance.snapshot().stream === "connected") return;
    this.dispatch({ type: "listed", status: server?.status, askedAt: list.askedAt });
    if (!server) return;
    this.instance.settleUnconfirmed(server, list.askedAt);
    this.reopenStalled(server);
  }

  /** Open the stream again if it is behind the list and did not move since the last poll: a dead connection. */
  private reopenStalled(server: AcpServer): void {
    const { stream, lastEventId } = this.instance.snapshot();
    const behind = stream === "connected" && server.lastEventId > lastEventId;
    if (behind && this.lastBehind === lastEventId) this.instance.stream.listen();
    this.lastBehind = behind ? lastEventId : -1;
  }

  private folded(): void {
    const { conversation, stream } = this.instance.snapshot();
    const before = this.state.get().stream;
    if (stream !== before) this.dispatch({ type: "stream", state: stream });
    this.dispatch({
      type: "conversation",
      turnOpen: conversation.turns.length > 0,
      waiting: conversation.pendingRequests.length,
      exited: conversation.exited !== undefined,
    });
  }

  private dispatch(event: SessionEvent): void {
    const before = this.state.get();
    const after = reduceSession(before, event);
    if (same(before, after)) return;
    this.state.set(after);
    if (isOver(after) && !isOver(before)) this.instance.endRun();
    const { lastStop } = this.instance.snapshot().conversation;
    const ready = phaseOf(after) === "idle" && !isConnectionLost(after);
    this.queue.proceed(
      ready,
      phaseOf(before) === "working" || phaseOf(before) === "waiting" ? lastStop : undefined,
    );
  }
}

function same(a: SessionState, b: SessionState): boolean {
  return (Object.keys(a) as (keyof SessionState)[]).every((key) => a[key] === b[key]);
}
