/** The page without a session: the agents to start one with. */

import type { AgentInfo } from "../api/bodies";
import { ImportButton } from "../panels/events/ImportButton";
import { useAppState } from "../state/appState";
import { agentLabel } from "../ui/agentLabel";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { Icon } from "../ui/Icon";
import { useAgents } from "./useAgents";

export function Welcome({ create }: { create: (agent?: string) => void }) {
  const { api } = useAppState();
  const agents = useAgents(api);
  return (
    <div className="welcome">
      <div className="welcome-head">
        <h1 className="grow">Start a session</h1>
        <ImportButton />
      </div>
      <p className="muted">
        Pick an agent. The mock agent needs no key and shows everything this page can draw.
      </p>
      {agents.loading && !agents.value && <Loading what="the agents" />}
      {agents.error !== undefined && <ErrorBox error={agents.error} retry={agents.reload} />}
      {agents.value?.length === 0 && <Empty title="The server knows no agents" />}
      <div className="agent-grid">
        {readyFirst(agents.value ?? []).map((agent) => (
          <button key={agent.id} type="button" className="agent-tile" onClick={() => create(agent.id)}>
            <span className="avatar" aria-hidden="true">
              {agentLabel(agent.id)[0]?.toUpperCase()}
            </span>
            <span className="tile-text">
              <strong>{agentLabel(agent.id)}</strong>
              <span className="muted">{agent.installed ? "Installed" : "Installs on first use"}</span>
              {!agent.credentialsAvailable && (
                <span className="warn-text">
                  {agent.credentialVariables ? `Needs ${agent.credentialVariables[0]}` : "Needs a login"}
                </span>
              )}
            </span>
            <Icon name="chevron" />
          </button>
        ))}
      </div>
    </div>
  );
}

/** Agents that can be used at once come first; otherwise the server's order. */
export function readyFirst(agents: AgentInfo[]): AgentInfo[] {
  const effort = (agent: AgentInfo) => (agent.installed ? 0 : 1) + (agent.credentialsAvailable ? 0 : 2);
  return [...agents].sort((a, b) => effort(a) - effort(b));
}
