/** What the palette offers for the open session if its agent can do it: log out, delete the session. */

import type { Instance } from "../instance/instance";
import { objectAt } from "../json";
import type { PaletteCommand } from "./paletteCommands";

/** `end` ends the process of the instance. */
export function agentCommands(
  instance: Instance | undefined,
  end: (serverId: string) => Promise<void>,
): PaletteCommand[] {
  const conversation = instance?.snapshot().conversation;
  if (!instance || !conversation || conversation.exited) return [];
  const { agentCapabilities, sessionIds } = conversation;
  const commands: PaletteCommand[] = [];
  const add = (label: string, question: string, work: () => Promise<unknown>) =>
    commands.push({
      key: `agent:${label}`,
      label,
      detail: "action",
      run: () => {
        // The conversation tells what the agent answers, also a failure.
        if (window.confirm(question)) void work().catch(() => undefined);
      },
    });
  if (objectAt(objectAt(agentCapabilities, "auth"), "logout"))
    add("Log the agent out", "Log the agent out of its account?", () => instance.request("logout", {}));
  const [sessionId] = sessionIds;
  if (
    sessionId &&
    sessionIds.length === 1 &&
    objectAt(objectAt(agentCapabilities, "sessionCapabilities"), "delete")
  )
    add(
      "Delete the session in the agent",
      "Delete what the agent has stored of this session, and end its process? This browser keeps the history.",
      async () => {
        await instance.request("session/delete", { sessionId });
        await end(instance.serverId);
      },
    );
  return commands;
}
