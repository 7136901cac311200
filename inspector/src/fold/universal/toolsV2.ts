/** Tools of ACP v2 (draft): content in chunks and terminals of the agent, as updates of the tool call they belong to. */

import { asList, asObject, asText, type Json, type JsonObject } from "../../json";
import { terminalMeta, WaitingOutput, withDiffsOfFiles } from "../acpV2";

export const TOOL_PIECES = ["tool_call_content_chunk", "terminal_update", "terminal_output_chunk"];

export class ToolsV2 {
  /** The session has shown that it is one of v2. */
  active = false;
  private readonly contents = new Map<string, Json[]>();
  /** The tool call that shows a terminal. */
  private readonly calls = new Map<string, string>();
  private readonly waiting = new WaitingOutput();

  /** A tool call passes: remember its content, and add the output of the terminals that it shows. */
  seen(update: JsonObject): JsonObject {
    const callId = asText(update.toolCallId);
    if (!this.active || callId === null || !Array.isArray(update.content)) return update;
    this.contents.set(callId, update.content);
    for (const one of update.content.map(asObject)) {
      const terminalId = one.type === "terminal" ? asText(one.terminalId) : null;
      if (terminalId !== null) this.calls.set(terminalId, callId);
    }
    return this.waiting.taken(update);
  }

  /** The update of a tool call that says the same as a piece; null if it belongs to no call. */
  translate(update: JsonObject): JsonObject | null {
    if (update.sessionUpdate === "tool_call_content_chunk") {
      const callId = asText(update.toolCallId) ?? "";
      const content = [...asList(this.contents.get(callId)), update.content ?? null];
      this.contents.set(callId, content);
      return withDiffsOfFiles({ ...updateOf(callId), content });
    }
    const terminalId = asText(update.terminalId) ?? "";
    const meta = terminalMeta(update);
    const callId = this.calls.get(terminalId);
    if (!callId && meta) this.waiting.add(terminalId, meta);
    return callId && meta ? { ...updateOf(callId), _meta: meta } : null;
  }
}

function updateOf(callId: string): JsonObject {
  return { sessionUpdate: "tool_call_update", toolCallId: callId };
}
