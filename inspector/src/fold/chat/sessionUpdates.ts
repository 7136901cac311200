/** What each kind of `session/update` does to the conversation. */

import type { ContentBlock, PlanEntry, ToolCallContent, ToolCallLocation } from "@agentclientprotocol/sdk";
import { isObject, listAt, numberAt, objectAt, textAt, type JsonObject } from "../../json";
import type { MessageItem, NoteItem, ToolItem, Usage } from "./conversation";
import { applyState, contentChunk, terminalUpdate, wholeMessage } from "./acpV2";
import { compaction } from "./compaction";
import { terminalText } from "../terminalOutput";
import { commands, configOptions, type ConversationState } from "./conversationState";

export function applySessionUpdate(state: ConversationState, params: JsonObject): void {
  const sessionId = textAt(params, "sessionId") ?? "";
  const update = objectAt(params, "update") ?? {};
  state.addSession(sessionId);
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
      return chunk(state, sessionId, update, "message", "assistant");
    case "agent_thought_chunk":
      return chunk(state, sessionId, update, "thought", "assistant");
    case "user_message_chunk":
      return chunk(state, sessionId, update, "message", "user");
    case "agent_message":
    case "agent_thought":
    case "user_message":
      return wholeMessage(state, update);
    case "tool_call":
    case "tool_call_update":
      return tool(state, state.terminalOutputs.taken(update));
    case "tool_call_content_chunk":
      return tool(state, contentChunk(state, update));
    case "terminal_update":
    case "terminal_output_chunk": {
      const shown = terminalUpdate(state, update);
      return shown && tool(state, shown);
    }
    case "plan":
      return plan(state, update);
    case "plan_update":
      return planUpdate(state, objectAt(update, "plan") ?? {});
    case "available_commands_update":
      return state.change({ commands: commands(update) });
    case "current_mode_update":
      return mode(state, textAt(update, "currentModeId") ?? "");
    case "config_option_update":
      return state.change({ configOptions: configOptions(update) });
    case "session_info_update":
      return state.change({ title: textAt(update, "title") ?? state.facts.title });
    case "usage_update":
      return state.change({ usage: { ...state.facts.usage, ...usage(update) } });
    case "notice":
      state.remark(textAt(update, "title") ?? "notice", textAt(update, "description"), severity(update));
      return;
    case "compaction_update":
    case "compaction_summary_chunk":
      return compaction(state, update);
    case "state_update":
      return applyState(state, sessionId, update);
    default:
      state.remark(textAt(update, "sessionUpdate") ?? "update", JSON.stringify(update));
  }
}

function chunk(
  state: ConversationState,
  sessionId: string,
  update: JsonObject,
  kind: MessageItem["kind"],
  role: MessageItem["role"],
): void {
  if (state.restoring) return;
  const block = objectAt(update, "content");
  if (!block || (block.type === "text" && textAt(block, "text") === "")) return;
  if (role === "user" && isEcho(state, block)) return;
  if (role === "assistant") state.passRequests((item) => item.request.sessionId === sessionId);
  const messageId = textAt(update, "messageId");
  const text = block.type === "text" ? (textAt(block, "text") ?? "") : "";
  const more = block.type === "text" ? [] : [block as unknown as ContentBlock];
  const open = state.openMessage();
  if (open && state.openIndex !== undefined && continues(open, kind, role, messageId)) {
    const attachments = more.length > 0 ? [...open.attachments, ...more] : open.attachments;
    state.replace(state.openIndex, { ...open, text: open.text + text, attachments, endedAt: state.now });
    return;
  }
  const item = {
    kind,
    role,
    text,
    attachments: more,
    endedAt: state.now,
    ...(messageId ? { messageId } : {}),
  };
  state.openIndex = state.push(item);
}

function continues(open: MessageItem, kind: string, role: string, messageId: string | undefined): boolean {
  return (
    open.kind === kind && open.role === role && (messageId === undefined || open.messageId === messageId)
  );
}

/** Agents repeat the prompt they were just given; it is already shown. */
function isEcho(state: ConversationState, block: JsonObject): boolean {
  const last = state.items.findLast((item) => item.kind === "message");
  return (
    last?.kind === "message" &&
    last.role === "user" &&
    last !== state.openMessage() &&
    last.text.includes(textAt(block, "text") ?? "\0")
  );
}

function tool(state: ConversationState, update: JsonObject): void {
  if (state.restoring) return;
  state.closeMessage();
  const toolCallId = textAt(update, "toolCallId") ?? "";
  const known = state.toolIndexes.get(toolCallId);
  const base: ToolItem | undefined = known === undefined ? undefined : (state.items[known] as ToolItem);
  const merged = mergeTool(state, base, update, toolCallId);
  if (known === undefined) state.toolIndexes.set(toolCallId, state.push(merged));
  else state.replace(known, { ...base!, ...merged });
  if (merged.status !== "pending") state.passRequests((item) => item.request.toolCallId === toolCallId);
}

type ToolFields = Omit<ToolItem, "key" | "n" | "time">;

function mergeTool(
  state: ConversationState,
  base: ToolItem | undefined,
  update: JsonObject,
  toolCallId: string,
): ToolFields {
  const status = (textAt(update, "status") ?? base?.status ?? "pending") as ToolItem["status"];
  const final = status === "completed" || status === "failed";
  return {
    kind: "tool",
    toolCallId,
    depth: base?.depth ?? depthOf(state, update),
    title: textAt(update, "title") ?? base?.title ?? toolCallId,
    toolKind: kindOf(base, update),
    status,
    rawInput: update.rawInput ?? base?.rawInput,
    rawOutput: update.rawOutput ?? base?.rawOutput,
    content: Array.isArray(update.content)
      ? (update.content as unknown as ToolCallContent[])
      : (base?.content ?? []),
    locations: Array.isArray(update.locations)
      ? (update.locations as unknown as ToolCallLocation[])
      : (base?.locations ?? []),
    ...terminalOutput(base, objectAt(update, "_meta") ?? {}),
    ...(final ? { endedAt: base?.endedAt ?? state.now } : {}),
  };
}

/** The call of the sub-agent that made this one, as agents name it beside the update. */
function depthOf(state: ConversationState, update: JsonObject): number {
  const meta = objectAt(update, "_meta") ?? {};
  const parent =
    textAt(objectAt(meta, "claudeCode"), "parentToolUseId") ??
    textAt(meta, "parentToolUseId") ??
    textAt(meta, "parentToolCallId");
  const index = parent === undefined ? undefined : state.toolIndexes.get(parent);
  return index === undefined ? 0 : (state.items[index] as ToolItem).depth + 1;
}

/** The first kind that says something stays: agents name it once, and some forget it later. */
function kindOf(base: ToolItem | undefined, update: JsonObject): string {
  if (base && base.toolKind !== "other") return base.toolKind;
  return textAt(update, "kind") ?? "other";
}

/** Some agents run commands themselves and send the output beside the update instead of as content. */
function terminalOutput(base: ToolItem | undefined, meta: JsonObject): Pick<ToolItem, "terminal"> {
  const before = base?.terminal?.text ?? "";
  const text = terminalText(before, meta);
  const exit = objectAt(meta, "terminal_exit");
  if (text === before && !exit) return base?.terminal ? { terminal: base.terminal } : {};
  const exitCode = numberAt(exit, "exit_code") ?? numberAt(exit, "exitCode") ?? base?.terminal?.exitCode;
  return { terminal: { text, ...(exitCode === undefined ? {} : { exitCode }) } };
}

function plan(state: ConversationState, update: JsonObject): void {
  const entries = listAt(update, "entries").filter(isObject) as unknown as PlanEntry[];
  const items = state.items;
  const turnStart = items.findLastIndex(
    (item) => item.kind === "turn-end" || (item.kind === "message" && item.role === "user"),
  );
  const index = items.findLastIndex((item) => item.kind === "plan");
  const known = index > turnStart ? items[index] : undefined;
  if (known?.kind === "plan") state.replace(index, { ...known, entries });
  else state.push({ kind: "plan", entries });
}

/** A plan as ACP v2 has it. One that is not a list of entries is a text or names a file. */
function planUpdate(state: ConversationState, update: JsonObject): void {
  if (update.type === "items") plan(state, update);
  else state.remark("Plan", textAt(update, "content") ?? textAt(update, "uri") ?? JSON.stringify(update));
}

function severity(update: JsonObject): NoteItem["level"] {
  return update.severity === "warning" || update.severity === "error" ? update.severity : "info";
}

function mode(state: ConversationState, currentModeId: string): void {
  const { modes } = state.facts;
  if (modes) state.change({ modes: { ...modes, currentModeId } });
  state.remark(
    `Mode: ${modes?.availableModes.find((one) => one.id === currentModeId)?.name ?? currentModeId}`,
  );
}

function usage(update: JsonObject): Usage {
  const cost = objectAt(update, "cost");
  const amount = numberAt(cost, "amount");
  return {
    used: numberAt(update, "used"),
    size: numberAt(update, "size"),
    ...(amount === undefined ? {} : { cost: { amount, currency: textAt(cost, "currency") ?? "" } }),
  };
}
