/** A prompt as the user's message. History that was replayed to the agent is left out. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { isObject, listAt, productMeta, textAt, type Json, type JsonObject } from "../json";
import type { MessageItem } from "./types";

const REPLAY_OPENING = "Previous session history is replayed below";

export function isReplay(block: JsonObject): boolean {
  return productMeta(block)?.replay !== undefined || (textAt(block, "text") ?? "").startsWith(REPLAY_OPENING);
}

export function promptItem(params: Json | undefined): Omit<MessageItem, "key" | "n" | "time"> | undefined {
  const blocks = listAt(params, "prompt")
    .filter(isObject)
    .filter((block) => !isReplay(block));
  if (blocks.length === 0) return undefined;
  const text = blocks.filter((block) => block.type === "text").map((block) => textAt(block, "text") ?? "");
  const attachments = blocks.filter((block) => block.type !== "text") as unknown as ContentBlock[];
  return { kind: "message", role: "user", text: text.join("\n"), attachments };
}
