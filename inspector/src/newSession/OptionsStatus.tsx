/** Whether the models and modes of an agent are known. They are shown only if the agent has reported them. */

import { useEffect } from "react";
import type { AgentInfo } from "../api/bodies";
import type { Loaded } from "../ui/hooks/useLoaded";

const ASK_AGAIN_MS = 1000;

export function OptionsStatus({ agent }: { agent: AgentInfo }) {
  const text = statusText(agent);
  return text ? (
    <p className="muted small-text" role="status">
      {text}
    </p>
  ) : null;
}

function statusText(agent: AgentInfo): string {
  switch (agent.configStatus) {
    case "asking":
      return "Models and modes: asking the agent…";
    case "failed":
      return `Models and modes could not be read: ${agent.configError ?? ""}`;
    case "unknown":
      return agent.installed
        ? "Models and modes are not known: the agent has no credentials yet."
        : "Models and modes are known after the agent is installed.";
    default:
      return "";
  }
}

/** Load again while an agent is being asked or installed. */
export function useAskedAgents<T>(loaded: Loaded<T>, agents: readonly AgentInfo[]): void {
  const { loading, reload } = loaded;
  const asking = agents.some((agent) => agent.configStatus === "asking" || agent.installing);
  useEffect(() => {
    if (!asking || loading) return undefined;
    const timer = setTimeout(reload, ASK_AGAIN_MS);
    return () => clearTimeout(timer);
  }, [asking, loading, reload]);
}
