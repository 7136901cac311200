/**
 * From messages to a conversation. `reduce` is pure: it returns a new conversation and never changes the
 * one it was given, so React can compare by identity. It takes a batch, because copying the list of items
 * once per message would not keep up with hundreds of updates a second.
 */

import { isObject, numberAt, objectAt, textAt, type Json, type JsonObject } from "../json";
import type { LoggedMessage } from "../live/message";
import { Draft, type Ledger } from "./draft";
import { promptItem } from "./prompt";
import { readReply, readRequest } from "./requests";
import { applyUpdate } from "./updates";
import type { Conversation, RequestItem } from "./types";

export interface ReducedLog {
  conversation: Conversation;
  /** Bookkeeping between messages; never shown. */
  ledger: Ledger;
}

export const EMPTY_LOG: ReducedLog = {
  conversation: {
    items: [],
    sessionIds: [],
    turns: [],
    endedTurns: 0,
    configOptions: [],
    commands: [],
    usage: {},
  },
  ledger: { open: undefined, tools: new Map(), calls: new Map(), asked: new Map(), restoring: false },
};

export function reduce(log: ReducedLog, messages: readonly LoggedMessage[]): ReducedLog {
  const draft = new Draft(log);
  for (const message of messages) step(draft, message);
  return draft.finish();
}

function step(draft: Draft, message: LoggedMessage): void {
  draft.at(message);
  if (message.gap) {
    draft.push({ kind: "gap", gap: message.gap });
  } else if (!isObject(message.payload)) {
    draft.note("warning", "Unexpected message", JSON.stringify(message.payload));
  } else if (message.sender === "client") {
    fromClient(draft, message.payload);
  } else {
    fromAgent(draft, message.payload);
  }
}

function fromClient(draft: Draft, message: JsonObject): void {
  const method = textAt(message, "method");
  if (method === undefined) {
    clientReply(draft, message);
    return;
  }
  if (message.id !== undefined) draft.ledger.calls.set(idKey(message.id), { method, params: message.params });
  if (method === "session/prompt") promptStarted(draft, message);
  else if (method === "session/load" || method === "session/resume")
    draft.ledger.restoring = draft.hasMessages();
  else if (method === "session/cancel") draft.note("info", "Stop requested");
}

function promptStarted(draft: Draft, message: JsonObject): void {
  const sessionId = textAt(message.params, "sessionId") ?? "";
  draft.closeOpen();
  draft.seeSession(sessionId);
  const item = promptItem(message.params);
  if (item) draft.push(item);
  draft.change({
    turns: [
      ...draft.conversation.turns,
      { requestId: idKey(message.id ?? null), sessionId, startedAt: draft.now },
    ],
  });
}

function clientReply(draft: Draft, message: JsonObject): void {
  const index = draft.ledger.asked.get(idKey(message.id ?? null));
  if (index === undefined) return;
  const card = draft.conversation.items[index] as RequestItem;
  if (card.state !== "pending" && card.state !== "stale") return;
  draft.replace(index, { ...card, ...readReply(card.request, message) });
}

function fromAgent(draft: Draft, message: JsonObject): void {
  const method = textAt(message, "method");
  if (method === undefined) {
    if (message.id !== undefined) agentReply(draft, message, message.id);
    return;
  }
  if (message.id !== undefined) {
    agentRequest(draft, message, method);
    return;
  }
  const params = objectAt(message, "params") ?? {};
  if (method === "session/update") applyUpdate(draft, params);
  else if (method === "_adapter/agent_exited") exited(draft, params);
  else if (method === "_adapter/invalid_stdout")
    draft.note("warning", "Output that is not JSON", textAt(params, "raw"));
  else if (method === "$/cancel_request") draft.staleRequest(idKey(params.requestId ?? params.id ?? null));
  else draft.note("info", method, textAt(params, "message") ?? textAt(params, "error"));
}

function agentRequest(draft: Draft, message: JsonObject, method: string): void {
  const request = readRequest(message);
  draft.closeOpen();
  if (!request) {
    draft.note("info", `The agent asked for ${method}`);
    return;
  }
  draft.seeSession(request.sessionId);
  draft.ledger.asked.set(idKey(request.id), draft.conversation.items.length);
  draft.push({ kind: "request", request, state: "pending" });
}

function agentReply(draft: Draft, message: JsonObject, id: Json): void {
  const call = draft.ledger.calls.get(idKey(id));
  const turn = draft.conversation.turns.find((one) => one.requestId === idKey(id));
  const error = objectAt(message, "error");
  const result = objectAt(message, "result");
  draft.ledger.calls.delete(idKey(id));
  if (turn) draft.endTurn(turn, error ? "error" : (textAt(result, "stopReason") ?? "end_turn"));
  else if (!call && textAt(result, "stopReason")) draft.endForeignTurn(textAt(result, "stopReason") ?? "");
  if (error)
    draft.note("error", textAt(error, "message") ?? "The agent reported an error", errorDetail(error));
  if (result) draft.learn(result, call?.params);
  if (call?.method === "session/load" || call?.method === "session/resume") draft.ledger.restoring = false;
}

function errorDetail(error: JsonObject): string | undefined {
  const data = error.data;
  if (data === undefined || data === null) return undefined;
  return typeof data === "string" ? data : (textAt(data, "details") ?? JSON.stringify(data));
}

function exited(draft: Draft, params: JsonObject): void {
  const code = numberAt(params, "code") ?? null;
  const success = params.success === true;
  draft.closeOpen();
  draft.staleAll();
  for (const turn of draft.conversation.turns) draft.endTurn(turn, "agent exited");
  draft.change({ exited: { code, success } });
  draft.note(
    success ? "info" : "error",
    success ? "The agent ended" : `The agent's process ended (${code ?? "signal"})`,
  );
}

export function idKey(id: Json): string {
  return JSON.stringify(id);
}
