/**
 * A permission request and the tool call it names. ACP's `toolCall` is an update there: the card shows what
 * was said before, and the tool's card what the request adds.
 */

import { textAt, type JsonObject } from "../../json";
import type { AgentRequest } from "../agentRequest";
import { actionOf, mergedToolCall } from "../permissionAction";
import type { ToolItem } from "./conversation";
import type { ConversationState } from "./conversationState";

/** Complete the request and the item of its tool call with what the other one knows. */
export function mergeRequest(state: ConversationState, request: AgentRequest): AgentRequest {
  const { toolCall, toolCallId } = request;
  if (!toolCall || toolCallId === undefined) return request;
  const index = state.toolIndexes.get(toolCallId);
  const item = index === undefined ? undefined : (state.items[index] as ToolItem);
  if (index !== undefined && item) {
    const title = textAt(toolCall, "title") ?? item.title;
    const toolKind = item.toolKind === "other" ? (textAt(toolCall, "kind") ?? "other") : item.toolKind;
    state.replace(index, { ...item, title, toolKind, rawInput: item.rawInput ?? toolCall.rawInput });
  }
  if (request.kind !== "permission") return request;
  const known: JsonObject = item ? { title: item.title, kind: item.toolKind, rawInput: item.rawInput } : {};
  const whole = mergedToolCall(known, toolCall);
  const title = actionOf(whole) || request.title;
  const [asked, ...more] = request.questions;
  return {
    ...request,
    title,
    toolCall: whole,
    questions: asked ? [{ ...asked, prompt: title }, ...more] : [],
  };
}
