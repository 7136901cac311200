/** A turn: the blocks that start it, and what stopping it takes. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { cancelResult } from "../conversation/requests";
import type { Instance } from "../live/instance";

export function promptBlocks(text: string, attached: ContentBlock[]): ContentBlock[] {
  return text ? [{ type: "text", text }, ...attached] : attached;
}

/** ACP wants open requests of a cancelled turn answered too, or the agent may wait for ever. */
export async function stopTurn(instance: Instance): Promise<void> {
  const { turns, items } = instance.snapshot().conversation;
  for (const sessionId of new Set(turns.map((turn) => turn.sessionId))) {
    await instance.notify("session/cancel", { sessionId });
  }
  for (const item of items) {
    if (item.kind === "request" && item.state === "pending")
      await instance.answer(item.request, cancelResult(item.request));
  }
}
