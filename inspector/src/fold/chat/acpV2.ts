/** What ACP v2 (draft) adds to v1: whole messages, content of tools in pieces, and terminals of the agent. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { isObject, listAt, numberAt, objectAt, textAt, type JsonObject } from "../../json";
import type { MessageItem, ToolItem } from "./conversation";
import type { ConversationState } from "./conversationState";

/** An answer that only accepts a prompt; `state_update` tells when its turn ends. */
export function isAcceptance(result: JsonObject | undefined): boolean {
  return textAt(result, "messageId") !== undefined && textAt(result, "stopReason") === undefined;
}

/** The agent works no longer on the session: its turns that were accepted are over. */
export function applyState(state: ConversationState, sessionId: string, update: JsonObject): void {
  if (update.state !== "idle") return;
  const stopReason = textAt(update, "stopReason") ?? "end_turn";
  for (const turn of state.facts.turns)
    if (turn.isAccepted && turn.sessionId === sessionId) state.endTurn(turn, stopReason);
}

/** A message as a whole: it replaces the one with the same id, also one that came in pieces. */
export function wholeMessage(state: ConversationState, update: JsonObject): void {
  if (state.restoring) return;
  const kind = update.sessionUpdate === "agent_thought" ? "thought" : "message";
  const role = update.sessionUpdate === "user_message" ? "user" : "assistant";
  const messageId = textAt(update, "messageId");
  const blocks = listAt(update, "content").filter(isObject);
  const text = blocks.map((block) => (block.type === "text" ? (textAt(block, "text") ?? "") : "")).join("");
  const attachments = blocks.filter((block) => block.type !== "text") as unknown as ContentBlock[];
  const index = state.items.findLastIndex((item) => isSame(item as MessageItem, kind, role, messageId));
  if (index >= 0) state.replace(index, { ...(state.items[index] as MessageItem), text, attachments });
  else if (role !== "user" || !isShown(state, text))
    state.push({ kind, role, text, attachments, ...(messageId ? { messageId } : {}) });
}

function isSame(item: MessageItem, kind: string, role: string, messageId: string | undefined): boolean {
  return messageId !== undefined && item.kind === kind && item.role === role && item.messageId === messageId;
}

/** Agents repeat the prompt that they have accepted. */
function isShown(state: ConversationState, text: string): boolean {
  const last = state.items.findLast((item) => item.kind === "message");
  return last?.kind === "message" && last.role === "user" && last.text === text;
}

/** The update of a tool call that says the same as a piece of its content. */
export function contentChunk(state: ConversationState, update: JsonObject): JsonObject {
  const known = state.toolIndexes.get(textAt(update, "toolCallId") ?? "");
  const before = known === undefined ? [] : (state.items[known] as ToolItem).content;
  return { toolCallId: update.toolCallId ?? "", content: [...before, update.content] as never };
}

/** The update of the tool call that shows a terminal; undefined if there is none or nothing new. */
export function terminalUpdate(state: ConversationState, update: JsonObject): JsonObject | undefined {
  const terminalId = textAt(update, "terminalId") ?? "";
  const text = decoded(textAt(update, "data") ?? textAt(objectAt(update, "output"), "data") ?? "");
  const exitCode = numberAt(objectAt(update, "exitStatus"), "exitCode");
  const call = [...state.toolIndexes].find(([, index]) => shows(state.items[index] as ToolItem, terminalId));
  if (!call) {
    state.terminalOutputs.set(terminalId, (state.terminalOutputs.get(terminalId) ?? "") + text);
    return undefined;
  }
  if (!text && exitCode === undefined) return undefined;
  return {
    toolCallId: call[0],
    _meta: {
      ...(text ? { terminal_output_delta: { data: text } } : {}),
      ...(exitCode === undefined ? {} : { terminal_exit: { exit_code: exitCode } }),
    },
  };
}

/** A tool call with what its terminals have written before it showed them. */
export function withTerminalOutput(state: ConversationState, update: JsonObject): JsonObject {
  const ids = listAt(update, "content").flatMap((one) => textAt(one, "terminalId") ?? []);
  const data = ids.map((id) => state.terminalOutputs.get(id) ?? "").join("");
  for (const id of ids) state.terminalOutputs.delete(id);
  return data
    ? { ...update, _meta: { ...objectAt(update, "_meta"), terminal_output_delta: { data } } }
    : update;
}

function shows(item: ToolItem, terminalId: string): boolean {
  return item.content.some((one) => one.type === "terminal" && one.terminalId === terminalId);
}

function decoded(data: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(data), (one) => one.charCodeAt(0)));
  } catch {
    return "";
  }
}
