/** Turns: from the client's prompt to the agent's answer. Every started turn ends. */

import { asList, asObject, asText, isObject, jsonText, type JsonObject } from "../../json";
import { isReplayBlock } from "../replayBlock";
import { blockPart, blockText } from "./content";
import type { Emitter } from "./emitter";
import type { Items } from "./items";
import type { Messages } from "./messages";
import { turnIdOf } from "./meta";
import type { Tools } from "./tools";

export interface ErrorData {
  message: string;
  code: string | null;
  details: unknown;
}

export class Turns {
  private readonly open = new Map<string, string>();
  /** Open turns that end with the idle state of the agent (ACP v2). */
  private readonly accepted = new Set<string>();
  private echoText = "";
  private echoBlocks: string[] = [];

  constructor(
    private readonly out: Emitter,
    private readonly items: Items,
    private readonly messages: Messages,
    private readonly tools: Tools,
  ) {}

  start(key: string, params: JsonObject): void {
    if (this.open.has(key)) return;
    this.messages.closeAll("completed");
    const turnId = turnIdOf(params) ?? this.out.newId("turn");
    this.open.set(key, turnId);
    this.out.emit("turn.started", { phase: "started", turn_id: turnId }, true);
    const blocks = asList(params.prompt).filter(isObject);
    this.echoText = blocks.map((block) => blockText(block) ?? "").join("");
    this.echoBlocks = blocks.filter((block) => blockText(block) === null).map(jsonText);
    const content = blocks.filter((block) => !isReplayBlock(block)).map(blockPart);
    if (content.length > 0)
      this.items.addComplete(this.items.create("message", "user"), content, "completed", true);
  }

  /** The client has added a message to the open turn. */
  steered(params: JsonObject): void {
    const blocks = asList(params.prompt).filter(isObject);
    if (this.open.size === 0 || blocks.length === 0) return;
    this.messages.closeAll("completed");
    this.echoText += blocks.map((block) => blockText(block) ?? "").join("");
    this.items.addComplete(this.items.create("message", "user"), blocks.map(blockPart), "completed", true);
  }

  /** Whether a user chunk repeats the prompt of an open turn; the text may arrive in pieces. */
  isEcho(block: JsonObject): boolean {
    if (this.open.size === 0) return false;
    const text = blockText(block);
    if (text === null) return this.echoBlocks.includes(jsonText(block));
    if (!this.echoText.startsWith(text)) return false;
    this.echoText = this.echoText.slice(text.length);
    return true;
  }

  answered(key: string, result: JsonObject): void {
    const stopReason = result.stopReason ?? null;
    this.messages.closeAll("completed");
    this.tools.closeAll(stopReason === "cancelled" ? "failed" : "completed");
    const usage = result.usage === undefined || result.usage === null ? {} : { usage: result.usage };
    this.end(key, { stopReason, ...usage }, false);
  }

  /** The agent has accepted the prompt (ACP v2); its turn ends with the next idle state. */
  accept(key: string): void {
    this.accepted.add(key);
  }

  /** The agent is idle (ACP v2): the accepted prompts have ended. */
  idle(state: JsonObject): void {
    for (const key of [...this.open.keys()]) {
      if (!this.accepted.has(key)) continue;
      if (state.stopReason !== "error") {
        this.answered(key, state);
        continue;
      }
      const error = asObject(state.error);
      const code = error.code === undefined || error.code === null ? null : jsonText(error.code);
      const message = asText(error.message) ?? "the turn failed";
      this.failed(key, { message, code, details: error.data ?? null }, false);
    }
  }

  failed(key: string, error: ErrorData, synthetic: boolean): void {
    this.messages.closeAll("failed");
    this.tools.closeAll("failed");
    this.out.emit("error", error, synthetic);
    this.end(key, { error: true }, synthetic);
  }

  /** End every open turn because no answer is possible any more. */
  abandon(message: string, code: string): void {
    for (const key of [...this.open.keys()]) this.failed(key, { message, code, details: null }, true);
    this.messages.closeAll("failed");
    this.tools.closeAll("failed");
  }

  isOpen(key: string): boolean {
    return this.open.has(key);
  }

  private end(key: string, metadata: JsonObject, synthetic: boolean): void {
    const turnId = this.open.get(key)!;
    this.open.delete(key);
    this.accepted.delete(key);
    this.out.emit("turn.ended", { phase: "ended", turn_id: turnId, metadata }, synthetic);
  }
}
