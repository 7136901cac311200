/** What each kind of `session/update` does to the conversation. */

import type { ContentBlock, PlanEntry, ToolCallContent, ToolCallLocation } from "@agentclientprotocol/sdk";
import { isObject, listAt, numberAt, objectAt, textAt, type JsonObject } from "../json";
import { commands, configOptions, type Draft } from "./draft";
import type { MessageItem, ToolItem, Usage } from "./types";

export function applyUpdate(draft: Draft, params: JsonObject): void {
  const sessionId = textAt(params, "sessionId") ?? "";
  const update = objectAt(params, "update") ?? {};
  draft.seeSession(sessionId);
  switch (update.sessionUpdate) {
    case "agent_message_chunk":
      return chunk(draft, sessionId, update, "message", "assistant");
    case "agent_thought_chunk":
      return chunk(draft, sessionId, update, "thought", "assistant");
    case "user_message_chunk":
      return chunk(draft, sessionId, update, "message", "user");
    case "tool_call":
    case "tool_call_update":
      return tool(draft, update);
    case "plan":
      return plan(draft, update);
    case "available_commands_update":
      return draft.change({ commands: commands(update) });
    case "current_mode_update":
      return mode(draft, textAt(update, "currentModeId") ?? "");
    case "config_option_update":
      return draft.change({ configOptions: configOptions(update) });
    case "session_info_update":
      return draft.change({ title: textAt(update, "title") ?? draft.conversation.title });
    case "usage_update":
      return draft.change({ usage: { ...draft.conversation.usage, ...usage(update) } });
    default:
      return draft.note("info", String(update.sessionUpdate ?? "update"), JSON.stringify(update));
  }
}

function chunk(
  draft: Draft,
  sessionId: string,
  update: JsonObject,
  kind: MessageItem["kind"],
  role: MessageItem["role"],
): void {
  if (draft.ledger.restoring) return;
  const block = objectAt(update, "content");
  if (!block) return;
  if (role === "user" && isEcho(draft, block)) return;
  if (role === "assistant") draft.staleWhere((card) => card.request.sessionId === sessionId);
  const messageId = textAt(update, "messageId");
  const text = block.type === "text" ? (textAt(block, "text") ?? "") : "";
  const more = block.type === "text" ? [] : [block as unknown as ContentBlock];
  const open = draft.openItem();
  if (open && draft.ledger.open !== undefined && continues(open, kind, role, messageId)) {
    const attachments = more.length > 0 ? [...open.attachments, ...more] : open.attachments;
    draft.replace(draft.ledger.open, { ...open, text: open.text + text, attachments });
    return;
  }
  const item = { kind, role, text, attachments: more, ...(messageId ? { messageId } : {}) };
  draft.ledger.open = draft.push(item);
}

function continues(open: MessageItem, kind: string, role: string, messageId: string | undefined): boolean {
  return (
    open.kind === kind && open.role === role && (messageId === undefined || open.messageId === messageId)
  );
}

/** Agents repeat the prompt they were just given; it is already shown. */
function isEcho(draft: Draft, block: JsonObject): boolean {
  const last = draft.conversation.items.findLast((item) => item.kind === "message");
  return (
    last?.kind === "message" &&
    last.role === "user" &&
    last !== draft.openItem() &&
    last.text.includes(textAt(block, "text") ?? "\0")
  );
}

function tool(draft: Draft, update: JsonObject): void {
  if (draft.ledger.restoring) return;
  draft.closeOpen();
  const toolCallId = textAt(update, "toolCallId") ?? "";
  const known = draft.ledger.tools.get(toolCallId);
  const base: ToolItem | undefined =
    known === undefined ? undefined : (draft.conversation.items[known] as ToolItem);
  const merged = mergeTool(base, update, toolCallId, draft.now);
  if (known === undefined) draft.ledger.tools.set(toolCallId, draft.push(merged));
  else draft.replace(known, { ...base!, ...merged });
  if (merged.status !== "pending") draft.staleWhere((card) => card.request.toolCallId === toolCallId);
}

type ToolFields = Omit<ToolItem, "key" | "n" | "time">;

function mergeTool(
  base: ToolItem | undefined,
  update: JsonObject,
  toolCallId: string,
  now: number,
): ToolFields {
  const status = (textAt(update, "status") ?? base?.status ?? "pending") as ToolItem["status"];
  const final = status === "completed" || status === "failed";
  return {
    kind: "tool",
    toolCallId,
    title: textAt(update, "title") ?? base?.title ?? toolCallId,
    toolKind: textAt(update, "kind") ?? base?.toolKind ?? "other",
    status,
    rawInput: update.rawInput ?? base?.rawInput,
    rawOutput: update.rawOutput ?? base?.rawOutput,
    content: Array.isArray(update.content)
      ? (update.content as unknown as ToolCallContent[])
      : (base?.content ?? []),
    locations: Array.isArray(update.locations)
      ? (update.locations as unknown as ToolCallLocation[])
      : (base?.locations ?? []),
    ...terminalOutput(base, objectAt(update, "_meta")),
    ...(final ? { endedAt: base?.endedAt ?? now } : {}),
  };
}

/** Some agents run commands themselves and send the output beside the update instead of as content. */
function terminalOutput(
  base: ToolItem | undefined,
  meta: JsonObject | undefined,
): Pick<ToolItem, "terminal"> {
  const data = textAt(objectAt(meta, "terminal_output"), "data");
  const exit = objectAt(meta, "terminal_exit");
  if (data === undefined && !exit) return base?.terminal ? { terminal: base.terminal } : {};
  const text = (base?.terminal?.text ?? "") + (data ?? "").replaceAll("\r\n", "\n");
  const exitCode = numberAt(exit, "exit_code") ?? base?.terminal?.exitCode;
  return { terminal: { text, ...(exitCode === undefined ? {} : { exitCode }) } };
}

function plan(draft: Draft, update: JsonObject): void {
  draft.closeOpen();
  const entries = listAt(update, "entries").filter(isObject) as unknown as PlanEntry[];
  const items = draft.conversation.items;
  const turnStart = items.findLastIndex(
    (item) => item.kind === "turn-end" || (item.kind === "message" && item.role === "user"),
  );
  const index = items.findLastIndex((item) => item.kind === "plan");
  const known = index > turnStart ? items[index] : undefined;
  if (known?.kind === "plan") draft.replace(index, { ...known, entries });
  else draft.push({ kind: "plan", entries });
}

function mode(draft: Draft, currentModeId: string): void {
  const { modes } = draft.conversation;
  if (modes) draft.change({ modes: { ...modes, currentModeId } });
  draft.note(
    "info",
    `Mode: ${modes?.availableModes.find((one) => one.id === currentModeId)?.name ?? currentModeId}`,
  );
}

function usage(update: JsonObject): Usage {
  const cost = objectAt(update, "cost");
  const amount = numberAt(cost, "amount");
  return {
    used: numberAt(update, "used"),
    size: numberAt(update, "size"),
    ...(amount === undefined
      ? {}
      : { cost: `${amount.toFixed(4)} ${textAt(cost, "currency") ?? ""}`.trim() }),
  };
}
