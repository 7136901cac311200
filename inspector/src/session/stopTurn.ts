/** Stops the running turns: cancels them, and answers their open requests, which the agent would wait for. */

import { cancelResult } from "../fold/requestResult";
import type { Instance } from "../instance/instance";

export async function stopTurn(instance: Instance): Promise<void> {
  const { turns, pendingRequests } = instance.snapshot().conversation;
  for (const sessionId of new Set(turns.map((turn) => turn.sessionId))) {
    await instance.notify("session/cancel", { sessionId });
  }
  for (const { request } of pendingRequests) await instance.answer(request, cancelResult(request));
}
