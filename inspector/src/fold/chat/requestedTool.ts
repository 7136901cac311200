/**
 * A permission request and the tool call it names. ACP's `toolCall` is an update there: the card shows what
 * was said before, and the tool's card what the request adds.
 */

import { listAt, textAt, type Json, type JsonObject } from "../../json";
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
    state.replace(index, {
      ...item,
      title,
      toolKind,
      rawInput: item.rawInput ?? toolCall.rawInput,
      content: filled(toolCall, "content", item.content),
      locations: filled(toolCall, "locations", item.locations),
      isAskedFor: request.kind === "permission",
    });
  }
  if (request.kind !== "permission") return request;
  const known: JsonObject = item ? { title: item.title, kind: item.toolKind, rawInput: item.rawInput } : {};
  const whole: JsonObject = {
    ...mergedToolCall(known, toolCall),
    content: filled(toolCall, "content", (item?.content ?? []) as unknown as Json[]),
    locations: filled(toolCall, "locations", (item?.locations ?? []) as unknown as Json[]),
  };
  const title = actionOf(request.asked === undefined ? whole : { ...whole, title: request.asked });
  const [asked, ...more] = request.questions;
  return {
    ...request,
    title: title || request.title,
    toolCall: whole,
    hasToolCard: item !== undefined,
    questions: asked ? [{ ...asked, prompt: title || request.title }, ...more] : [],
  };
}

/** A list of the request if it has one, else what was known before. */
function filled<T>(toolCall: JsonObject, key: string, known: T[]): T[] {
  const given = listAt(toolCall, key);
  return given.length > 0 ? (given as unknown as T[]) : known;
}
