/** A prompt as the content blocks of ACP. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import type { ServerApi } from "../api/server";
import { objectAt, type JsonObject } from "../json";
import type { QueuedPrompt } from "../session/promptQueue";
import { attachmentBlock } from "./attachments";

export async function promptBlocks(
  api: ServerApi,
  prompt: QueuedPrompt,
  capabilities: JsonObject | undefined,
): Promise<ContentBlock[]> {
  const takesPictures = objectAt(capabilities, "promptCapabilities")?.image === true;
  const text: ContentBlock[] = prompt.text ? [{ type: "text", text: prompt.text }] : [];
  const files = prompt.attachments.map((one) => attachmentBlock(api, one, takesPictures));
  return [...text, ...(prompt.blocks ?? []), ...(await Promise.all(files))];
}
