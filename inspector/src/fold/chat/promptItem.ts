/** A prompt as the user's message, without history that was replayed to the agent. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { isObject, listAt, textAt, type JsonObject } from "../../json";
import { isReplayBlock } from "../replayBlock";
import type { MessageItem, NewItem } from "./conversation";

export function promptItem(params: JsonObject): NewItem<MessageItem> | undefined {
  const blocks = listAt(params, "prompt")
    .filter(isObject)
    .filter((block) => !isReplayBlock(block));
  if (blocks.length === 0) return undefined;
  const text = blocks.filter((block) => block.type === "text").map((block) => textAt(block, "text") ?? "");
  const attachments = blocks.filter((block) => block.type !== "text") as unknown as ContentBlock[];
  return { kind: "message", role: "user", text: text.join("\n"), attachments };
}
