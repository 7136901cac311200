/** A conversation being extended by one batch of messages: copied once, then changed in place. */

import type { AvailableCommand, SessionConfigOption, SessionModeState } from "@agentclientprotocol/sdk";
import { isObject, listAt, numberAt, objectAt, textAt, type Json, type JsonObject } from "../json";
import type { LoggedMessage } from "../live/message";
import type { ReducedLog } from "./reduce";
import type { Conversation, Item, MessageItem, NoteItem, RequestItem, Turn } from "./types";

export interface Ledger {
  /** Index of the message or thought that the next chunk may extend. */
  open: number | undefined;
  /** Index of the item of each tool call. */
  tools: Map<string, number>;
  /** Requests of clients that wait for an answer, by id. */
  calls: Map<string, { method: string; params: Json | undefined }>;
  /** Index of the card of each request of the agent, by id. */
  asked: Map<string, number>;
  /** The agent repeats history that is already shown. */
  restoring: boolean;
}

type NewItem<T = Item> = T extends Item ? Omit<T, "key" | "n" | "time"> : never;

export class Draft {
  conversation: Conversation;
  readonly ledger: Ledger;
  now = 0;
  private n = 0;

  constructor(log: ReducedLog) {
    this.conversation = { ...log.conversation, items: [...log.conversation.items] };
    const { open, tools, calls, asked, restoring } = log.ledger;
    this.ledger = { open, tools: new Map(tools), calls: new Map(calls), asked: new Map(asked), restoring };
  }

  finish(): ReducedLog {
    return { conversation: this.conversation, ledger: this.ledger };
  }

  at(message: LoggedMessage): void {
    this.now = message.time;
    this.n = message.n;
  }

  change(change: Partial<Conversation>): void {
    this.conversation = { ...this.conversation, ...change };
  }

  push(item: NewItem): number {
    const { items } = this.conversation;
    items.push({ ...item, key: `${items.length}`, n: this.n, time: this.now } as Item);
    return items.length - 1;
  }

  replace(index: number, item: Item): void {
    this.conversation.items[index] = item;
  }

  note(level: NoteItem["level"], label: string, detail?: string): void {
    this.closeOpen();
    this.push({ kind: "note", level, label, ...(detail ? { detail } : {}) });
  }

  closeOpen(): void {
    this.ledger.open = undefined;
  }

  openItem(): MessageItem | undefined {
    const { open } = this.ledger;
    return open === undefined ? undefined : (this.conversation.items[open] as MessageItem);
  }

  hasMessages(): boolean {
    return this.conversation.items.some((item) => item.kind === "message");
  }

  seeSession(sessionId: string): void {
    if (sessionId && !this.conversation.sessionIds.includes(sessionId)) {
      this.change({ sessionIds: [...this.conversation.sessionIds, sessionId] });
    }
  }

  endTurn(turn: Turn, stopReason: string): void {
    this.closeOpen();
    this.staleAll();
    this.change({ turns: this.conversation.turns.filter((one) => one !== turn) });
    this.pushTurnEnd(stopReason, Math.max(0, this.now - turn.startedAt));
  }

  /** A turn of another client ended: its prompt was never seen here. */
  endForeignTurn(stopReason: string): void {
    this.closeOpen();
    this.staleAll();
    this.pushTurnEnd(stopReason, 0);
  }

  private pushTurnEnd(stopReason: string, durationMs: number): void {
    this.change({ endedTurns: this.conversation.endedTurns + 1 });
    this.push({ kind: "turn-end", stopReason, durationMs });
  }

  staleRequest(id: string, closed = false): void {
    const index = this.ledger.asked.get(id);
    const card = index === undefined ? undefined : (this.conversation.items[index] as RequestItem);
    if (index === undefined || !card || (card.state !== "pending" && card.state !== "stale")) return;
    this.replace(index, { ...card, state: "stale", closed: closed || card.closed });
  }

  /**
   * Nobody can answer any more: the turn or the process is over. The cards stay known, because news of an
   * answer given in another tab may come after the agent's reaction to it.
   */
  staleAll(): void {
    for (const id of this.ledger.asked.keys()) this.staleRequest(id, true);
  }

  /** The agent went on past these cards, so another client must have answered them. */
  staleWhere(passed: (card: RequestItem) => boolean): void {
    for (const [id, index] of this.ledger.asked) {
      if (passed(this.conversation.items[index] as RequestItem)) this.staleRequest(id);
    }
  }

  /** Facts about the session that answers carry: ids, modes, options, the agent's own description. */
  learn(result: JsonObject, params: Json | undefined): void {
    this.seeSession(textAt(result, "sessionId") ?? textAt(params, "sessionId") ?? "");
    const change: Partial<Conversation> = {};
    const modes = objectAt(result, "modes");
    if (modes) change.modes = modes as unknown as SessionModeState;
    if (Array.isArray(result.configOptions)) change.configOptions = configOptions(result);
    const info = objectAt(result, "agentInfo");
    if (info)
      change.agentInfo = {
        name: textAt(info, "title") ?? textAt(info, "name") ?? "",
        version: textAt(info, "version"),
      };
    const capabilities = objectAt(result, "agentCapabilities");
    if (capabilities) change.agentCapabilities = capabilities;
    const tokens = numberAt(objectAt(result, "usage"), "totalTokens");
    if (tokens !== undefined) change.usage = { ...this.conversation.usage, totalTokens: tokens };
    if (Object.keys(change).length > 0) this.change(change);
    // The answer to `initialize`: a fresh process is at work.
    if (result.protocolVersion !== undefined) this.change({ exited: undefined });
  }
}

export function configOptions(source: JsonObject): SessionConfigOption[] {
  return listAt(source, "configOptions").filter(isObject) as unknown as SessionConfigOption[];
}

export function commands(source: JsonObject): AvailableCommand[] {
  return listAt(source, "availableCommands").filter(isObject) as unknown as AvailableCommand[];
}
