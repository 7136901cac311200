/** What ACP v2 (draft) adds to v1: whole messages, content of tools in pieces, and terminals of the agent. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { isObject, listAt, objectAt, textAt, type JsonObject } from "../../json";
import { terminalMeta, withDiffsOfFiles } from "../acpV2";
import type { MessageItem, ToolItem } from "./conversation";
import type { ConversationState } from "./conversationState";

/** The agent works no longer on the session: its turns that were accepted are over. */
export function applyState(state: ConversationState, sessionId: string, update: JsonObject): void {
  if (update.state !== "idle") return;
  const stopReason = textAt(update, "stopReason") ?? "end_turn";
  const error = textAt(objectAt(update, "error"), "message");
  if (stopReason === "error") state.note("error", error ?? "The turn failed");
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
  const content = [...before, update.content] as never;
  return withDiffsOfFiles({ toolCallId: update.toolCallId ?? "", content });
}

/** The update of the tool call that shows a terminal; undefined if there is none or nothing new. */
export function terminalUpdate(state: ConversationState, update: JsonObject): JsonObject | undefined {
  const terminalId = textAt(update, "terminalId") ?? "";
  const meta = terminalMeta(update);
  if (!meta) return undefined;
  const call = [...state.toolIndexes].find(([, index]) => shows(state.items[index] as ToolItem, terminalId));
  if (call) return { toolCallId: call[0], _meta: meta };
  state.terminalOutputs.add(terminalId, meta);
  return undefined;
}

function shows(item: ToolItem, terminalId: string): boolean {
  return item.content.some((one) => one.type === "terminal" && one.terminalId === terminalId);
}
