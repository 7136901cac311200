/** The composer for an instance of another client: the prompts go to a session that this browser did not open. */

import { useEffect, useState } from "react";
import type { Instance } from "../instance/instance";
import { useInstance } from "../instance/useInstance";
import { PromptQueue } from "../session/promptQueue";
import { useAppState } from "../state/appState";
import { Composer } from "./Composer";
import { Draft } from "./draft";
import { promptBlocks } from "./promptBlocks";

export function WatchComposer({ instance, sessionId }: { instance: Instance; sessionId: string }) {
  return <Target key={sessionId} instance={instance} sessionId={sessionId} />;
}

function Target({ instance, sessionId }: { instance: Instance; sessionId: string }) {
  const { api } = useAppState();
  const { conversation, stream } = useInstance(instance);
  const [{ draft, queue }] = useState(() => ({
    draft: new Draft(`${instance.serverId}:${sessionId}`),
    queue: new PromptQueue(`${instance.serverId}:${sessionId}`, async (prompt) => {
      const { agentCapabilities } = instance.snapshot().conversation;
      const blocks = await promptBlocks(api, prompt, agentCapabilities);
      return instance.request("session/prompt", { sessionId, prompt: blocks });
    }),
  }));
  const ready = conversation.turns.length === 0 && stream === "connected";
  useEffect(() => queue.proceed(ready, conversation.lastStop), [queue, ready, conversation.lastStop]);
  return <Composer target={{ instance, queue, draft, directory: "", over: false }} />;
}
