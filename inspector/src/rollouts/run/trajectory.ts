/**
 * The trajectory (ATIF) of a run that kept nothing else, as messages of a log: its steps become the messages that
 * an agent would have sent, without times of their own.
 */

import type { LoggedMessage, Sender } from "../../fold/message";
import {
  asList,
  asObject,
  listAt,
  parseJson,
  plainText,
  textAt,
  type Json,
  type JsonObject,
} from "../../json";
import { recorded } from "../../replay/messageLines";

export const TRAJECTORY_FILE = "trajectory.json";

export function readTrajectory(text: string): LoggedMessage[] {
  const writer = new TrajectoryWriter();
  for (const step of listAt(parseJson(text), "steps")) writer.add(asObject(step));
  return writer.finish();
}

const SESSION = "trajectory";

class TrajectoryWriter {
  private readonly messages: LoggedMessage[] = [];
  private turn = 0;

  add(step: JsonObject): void {
    const time = Date.parse(textAt(step, "timestamp") ?? "") || 0;
    const message = plainText(step.message ?? "");
    if (textAt(step, "source") === "user") {
      this.endTurn(time);
      this.turn += 1;
      const params = { sessionId: SESSION, prompt: [{ type: "text", text: message }] };
      this.write("client", time, { jsonrpc: "2.0", id: this.turn, method: "session/prompt", params });
      return;
    }
    const thought = textAt(step, "reasoning_content");
    if (thought) this.update(time, { sessionUpdate: "agent_thought_chunk", content: textBlock(thought) });
    if (message) this.update(time, { sessionUpdate: "agent_message_chunk", content: textBlock(message) });
    const results = new Map(
      asList(asObject(step.observation).results).map((one) => [textAt(one, "source_call_id"), one]),
    );
    for (const call of listAt(step, "tool_calls")) this.toolCall(time, asObject(call), results);
  }

  finish(): LoggedMessage[] {
    this.endTurn(this.messages.at(-1)?.time ?? 0);
    return this.messages;
  }

  private toolCall(time: number, call: JsonObject, results: Map<string | undefined, Json>): void {
    const toolCallId = textAt(call, "tool_call_id") ?? "";
    const content = asObject(results.get(toolCallId)).content;
    this.update(time, {
      sessionUpdate: "tool_call",
      toolCallId,
      title: textAt(call, "function_name") ?? "tool",
      kind: "other",
      status: "completed",
      rawInput: call.arguments,
      content: content === undefined ? [] : [{ type: "content", content: textBlock(plainText(content)) }],
    });
  }

  private update(time: number, update: JsonObject): void {
    const params = { sessionId: SESSION, update };
    this.write("agent", time, { jsonrpc: "2.0", method: "session/update", params });
  }

  private endTurn(time: number): void {
    if (this.turn === 0) return;
    this.write("agent", time, { jsonrpc: "2.0", id: this.turn, result: { stopReason: "end_turn" } });
  }

  private write(sender: Sender, time: number, payload: JsonObject): void {
    this.messages.push(recorded(this.messages.length, sender, time, payload));
  }
}

function textBlock(text: string): JsonObject {
  return { type: "text", text };
}
