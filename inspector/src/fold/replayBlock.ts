/** The conversation so far as one text block, for an agent that cannot load its session itself. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { productMeta, textAt, type JsonObject } from "../json";
import type { Item } from "./chat/conversation";

const OPENING = "Previous session history is replayed below";
/** Enough for the thread of a conversation; the newest messages matter most. */
const MAX_CHARS = 12_000;

/** Undefined if nothing was said yet. */
export function replayBlock(items: readonly Item[]): ContentBlock | undefined {
  const lines: string[] = [];
  let size = 0;
  for (const item of items.toReversed()) {
    if (item.kind !== "message" || item.text === "") continue;
    const line = JSON.stringify({ role: item.role, text: item.text });
    size += line.length + 1;
    if (size > MAX_CHARS) {
      lines.push("[older history left out]");
      break;
    }
    lines.push(line);
  }
  if (lines.length === 0) return undefined;
  const text = [`${OPENING}, one JSON object a line, oldest first.`, ...lines.reverse()].join("\n");
  return { type: "text", text, _meta: { "sandboxagent.dev": { replay: true } } };
}

/** Whether a block of a prompt is replayed history, which is not shown as the user's message. */
export function isReplayBlock(block: JsonObject): boolean {
  return productMeta(block).replay === true || (textAt(block, "text") ?? "").startsWith(OPENING);
}
