/** How far the start of an agent is: the install that it may need first is reported by the server's list. */

import type { ServerApi } from "../api/server";
import { agentLabel } from "../ui/agentLabel";

export interface StartProgress {
  text: string;
  /** Present while the agent is installed and the size is known. */
  percent?: number;
}

const INSTALL_LOOK_MS = 1000;

/** Report the progress of an install until the returned function is called. */
export function watchInstall(
  api: ServerApi,
  serverId: string,
  agent: string,
  progress: (step: StartProgress) => void,
): () => void {
  let ended = false;
  const look = async () => {
    const servers = await api.servers().catch(() => []);
    const installing = servers.find((one) => one.serverId === serverId)?.installing;
    if (!installing || ended) return;
    const percent = installing.percent ?? undefined;
    progress({ text: `Installing ${agentLabel(agent)}: ${installing.message}`, percent });
  };
  const timer = setInterval(() => void look(), INSTALL_LOOK_MS);
  return () => {
    ended = true;
    clearInterval(timer);
  };
}
