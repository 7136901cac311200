/**
 * The state behind a conversation: the items and the indexes that find the item a message belongs to.
 * Items are changed in place during a batch; `publish` makes the snapshot that the page shows.
 */

import type {
  AuthMethod,
  AvailableCommand,
  SessionConfigOption,
  SessionModeState,
} from "@agentclientprotocol/sdk";
import { isObject, listAt, numberAt, objectAt, textAt, type JsonObject } from "../../json";
import { WaitingOutput } from "../acpV2";
import type { Compaction } from "./compaction";
import {
  EMPTY_CONVERSATION,
  type Conversation,
  type Cost,
  type Item,
  type MessageItem,
  type NewItem,
  type NoteItem,
  type RequestItem,
  type ToolItem,
  type Turn,
} from "./conversation";

const TITLE_CHARS = 48;

export class ConversationState {
  readonly items: Item[] = [];
  facts: Omit<Conversation, "items" | "pendingRequests"> = EMPTY_CONVERSATION;
  /** Time of the message that is being applied. */
  now = 0;
  /** The agent repeats history that is already shown. */
  restoring = false;
  /** Index of the message or thought that the next chunk may extend. */
  openIndex: number | undefined;
  readonly toolIndexes = new Map<string, number>();
  readonly compactions = new Map<string, Compaction>();
  /** Output of terminals that no tool call shows yet. */
  readonly terminalOutputs = new WaitingOutput();
  /** Index of the item of each request of the agent, by the key of its id. */
  private readonly requestIndexes = new Map<string, number>();
  /** Keys of the requests whose turn is not over and that have no answer. */
  private readonly openRequests = new Set<string>();
  private n = 0;
  private firstUserIndex: number | undefined;
  private firstChanged = 0;
  private pendingRequests: RequestItem[] = [];
  private requestsChanged = false;
  private costBefore = 0;

  moveTo(message: { n: number; time: number }): void {
    this.now = message.time;
    this.n = message.n;
  }

  /** The snapshot of this batch, and the index of the first item that the batch changed. */
  publish(): { conversation: Conversation; firstChanged: number } {
    if (this.requestsChanged) {
      const requests = [...this.openRequests].map((key) => this.requestOf(key)!);
      this.pendingRequests = requests.filter((item) => item.state === "pending");
      this.requestsChanged = false;
    }
    const firstChanged = this.firstChanged;
    if (this.firstUserIndex !== undefined && this.firstUserIndex >= firstChanged) {
      const { text } = this.items[this.firstUserIndex] as MessageItem;
      this.change({ firstPrompt: firstLine(text) });
    }
    this.firstChanged = this.items.length;
    const conversation = { ...this.facts, items: [...this.items], pendingRequests: this.pendingRequests };
    return { conversation, firstChanged };
  }

  change(change: Partial<typeof this.facts>): void {
    this.facts = { ...this.facts, ...change };
  }

  push(item: NewItem): number {
    const index = this.items.length;
    if (item.kind === "message" && item.role === "user") this.firstUserIndex ??= index;
    this.items.push({ ...item, key: String(index), n: this.n, time: this.now });
    return index;
  }

  replace(index: number, item: Item): void {
    this.items[index] = item;
    this.firstChanged = Math.min(this.firstChanged, index);
  }

  note(level: NoteItem["level"], label: string, detail?: string): void {
    this.closeMessage();
    this.push({ kind: "note", level, label, ...(detail ? { detail } : {}) });
    if (level === "error") this.change({ announcement: label });
  }

  /** A note that leaves the message before it open: the agent may go on with it. */
  remark(label: string, detail?: string, level: NoteItem["level"] = "info"): number {
    return this.push({ kind: "note", level, label, ...(detail ? { detail } : {}) });
  }

  closeMessage(): void {
    this.openIndex = undefined;
  }

  openMessage(): MessageItem | undefined {
    return this.openIndex === undefined ? undefined : (this.items[this.openIndex] as MessageItem);
  }

  hasMessages(): boolean {
    return this.items.some((item) => item.kind === "message");
  }

  addSession(sessionId: string): void {
    const { sessionIds } = this.facts;
    if (sessionId && !sessionIds.includes(sessionId)) this.change({ sessionIds: [...sessionIds, sessionId] });
  }

  /** End a turn; `turn` is undefined for one of another client, whose prompt is not in the log. */
  endTurn(turn: Turn | undefined, stopReason: string, tokens?: number): void {
    this.closeMessage();
    this.closeRequests();
    // Of an interrupted turn only the last message is known, not when its process ended.
    const timed = turn?.startedAt && this.now && stopReason !== "interrupted";
    const durationMs = timed ? Math.max(0, this.now - turn.startedAt) : 0;
    this.change({
      turns: this.facts.turns.filter((one) => one !== turn),
      endedTurns: this.facts.endedTurns + 1,
      turnsMs: this.facts.turnsMs + durationMs,
      lastStop: stopReason,
      announcement: `The turn ended: ${stopReason}`,
    });
    const cost = this.costOfTurn();
    this.push({
      kind: "turn-end",
      stopReason,
      durationMs,
      ...(tokens === undefined ? {} : { tokens }),
      ...(cost ? { cost } : {}),
    });
  }

  /** What was added to the session's cost since the last turn ended. */
  private costOfTurn(): Cost | undefined {
    const { cost } = this.facts.usage;
    if (!cost || cost.amount === this.costBefore) return undefined;
    const amount = cost.amount - this.costBefore;
    this.costBefore = cost.amount;
    // A smaller sum is the count of a new process.
    return { ...cost, amount: amount < 0 ? cost.amount : amount };
  }

  acceptTurn(turn: Turn): void {
    const turns = this.facts.turns.map((one) => (one === turn ? { ...one, isAccepted: true } : one));
    this.change({ turns });
  }

  /** Mark tool calls without an end as interrupted: their process is gone. */
  endTools(): void {
    for (const index of this.toolIndexes.values()) {
      const item = this.items[index] as ToolItem;
      if (item.status !== "pending" && item.status !== "in_progress") continue;
      this.replace(index, { ...item, status: "interrupted", endedAt: this.now });
    }
    this.toolIndexes.clear();
  }

  addRequest(key: string, item: NewItem<RequestItem>): void {
    this.requestIndexes.set(key, this.push(item));
    this.openRequests.delete(key);
    this.openRequests.add(key);
    this.requestsChanged = true;
    this.change({ announcement: `The agent asks: ${item.request.title}` });
  }

  /** Change a request that has no answer yet. */
  changeRequest(key: string, change: (item: RequestItem) => Partial<RequestItem>): void {
    const item = this.requestOf(key);
    if (!item || (item.state !== "pending" && item.state !== "stale")) return;
    const changed = { ...item, endedAt: item.endedAt ?? this.now, ...change(item) };
    this.replace(Number(item.key), changed);
    this.requestsChanged = true;
    if (changed.closed || (changed.state !== "pending" && changed.state !== "stale"))
      this.openRequests.delete(key);
    if (changed.state !== "pending") this.unfoldTool(item.request.toolCallId);
  }

  private requestOf(key: string): RequestItem | undefined {
    const index = this.requestIndexes.get(key);
    return index === undefined ? undefined : (this.items[index] as RequestItem);
  }

  /** The permission of a tool call is decided: its own card shows again what it does. */
  private unfoldTool(toolCallId: string | undefined): void {
    const index = toolCallId === undefined ? undefined : this.toolIndexes.get(toolCallId);
    const tool = index === undefined ? undefined : (this.items[index] as ToolItem);
    if (index !== undefined && tool?.isAskedFor) this.replace(index, { ...tool, isAskedFor: false });
  }

  /** Mark requests as stale that the agent went on without: another client has answered them. */
  passRequests(passed: (item: RequestItem) => boolean): void {
    for (const key of this.openRequests) {
      const item = this.requestOf(key)!;
      if (item.state === "pending" && passed(item)) this.changeRequest(key, () => ({ state: "stale" }));
    }
  }

  /**
   * Mark every request without an answer as closed, because the turn or the process is over. The requests
   * stay known: the answer of another tab may arrive after the agent's reaction to it.
   */
  closeRequests(): void {
    for (const key of this.openRequests) {
      this.changeRequest(key, () => ({ state: "stale", closed: true }));
    }
  }

  /** Take over what the result of a call says about the session and the agent. */
  applyResult(result: JsonObject, params: JsonObject | undefined): void {
    this.addSession(textAt(result, "sessionId") ?? textAt(params, "sessionId") ?? "");
    const change: Partial<Conversation> = {};
    const modes = objectAt(result, "modes");
    if (modes) change.modes = modes as unknown as SessionModeState;
    if (Array.isArray(result.configOptions)) change.configOptions = configOptions(result);
    const info = objectAt(result, "agentInfo") ?? objectAt(result, "info");
    if (info) {
      const name = textAt(info, "title") ?? textAt(info, "name") ?? "";
      change.agentInfo = { name, version: textAt(info, "version") };
    }
    const capabilities = objectAt(result, "agentCapabilities");
    if (capabilities) change.agentCapabilities = capabilities;
    if (Array.isArray(result.authMethods))
      change.authMethods = listAt(result, "authMethods").filter(isObject) as unknown as AuthMethod[];
    const totalTokens = numberAt(objectAt(result, "usage"), "totalTokens");
    if (totalTokens !== undefined) {
      const { usage } = this.facts;
      change.usage = { ...usage, totalTokens: (usage.totalTokens ?? 0) + totalTokens };
    }
    // Only the result of `initialize` has a protocol version: a fresh process has started.
    if (result.protocolVersion !== undefined) change.exited = undefined;
    if (Object.keys(change).length > 0) this.change(change);
  }
}

/** In ACP v2 the id of an option is its `configId`. */
export function configOptions(source: JsonObject): SessionConfigOption[] {
  const options = listAt(source, "configOptions").filter(isObject);
  return options.map((one) => ("configId" in one ? { ...one, id: one.configId } : one)) as never;
}

export function commands(source: JsonObject): AvailableCommand[] {
  return listAt(source, "availableCommands").filter(isObject) as unknown as AvailableCommand[];
}

function firstLine(text: string): string | undefined {
  const line = text.trim().split("\n")[0];
  if (!line) return undefined;
  return line.length > TITLE_CHARS ? `${line.slice(0, TITLE_CHARS)}…` : line;
}
