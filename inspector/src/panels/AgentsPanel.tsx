/** The agents of the server: state, version, options, capabilities, and installing them. */

import { useCallback, useMemo, useState } from "react";
import type { AgentInfo } from "../api/bodies";
import { selectOptions } from "../session/options";
import { OptionsStatus, useAskedAgents } from "../session/OptionsStatus";
import { useAppState } from "../state/appState";
import { agentLabel } from "../ui/agentLabel";
import { Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { duration } from "../ui/format";
import { Icon } from "../ui/Icon";
import { useLoaded } from "../ui/useLoaded";
import { useTask } from "../ui/useTask";

const SHOWN_CHOICES = 8;
const SHOWN_PROGRESS_LINES = 50;

export function AgentsPanel() {
  const { api } = useAppState();
  const agents = useLoaded(useCallback(() => api.agents(true), [api]));
  useAskedAgents(agents, agents.value ?? []);
  return (
    <div className="panel">
      <div className="toolbar">
        <h2 className="grow">Agents</h2>
        <button type="button" className="button small" onClick={agents.reload} disabled={agents.loading}>
          <Icon name="refresh" size={14} /> Refresh
        </button>
      </div>
      <div className="panel-scroll">
        {agents.loading && !agents.value && <Loading what="the agents" />}
        {agents.error !== undefined && <ErrorBox error={agents.error} retry={agents.reload} />}
        {agents.value?.map((agent) => (
          <AgentCard key={agent.id} agent={agent} changed={agents.reload} />
        ))}
      </div>
    </div>
  );
}

function installState(agent: AgentInfo): string {
  if (!agent.installing) return agent.installed ? "installed" : "not installed";
  return agent.installing.percent == null ? "installing" : `installing, ${agent.installing.percent} %`;
}

function AgentCard({ agent, changed }: { agent: AgentInfo; changed: () => void }) {
  const app = useAppState();
  const [lines, setLines] = useState<string[]>([]);
  const [outcome, setOutcome] = useState("");
  const task = useTask();
  const install = () => {
    setLines([]);
    setOutcome("");
    void task.run(async () => {
      const result = await app.api.install(agent.id, agent.installed, (line) =>
        setLines((before) => [...before.slice(-SHOWN_PROGRESS_LINES), line]),
      );
      const parts = result.artifacts.map(
        (artifact) => `${artifact.kind} ${artifact.version ?? ""} (${artifact.source})`,
      );
      setOutcome(
        result.already_installed ? "It was installed already." : `Installed ${parts.join(", ") || "it"}.`,
      );
      changed();
    });
  };
  const { configOptions } = agent;
  const options = useMemo(() => selectOptions({ configOptions }), [configOptions]);
  const flags = Object.entries(agent.capabilities);
  return (
    <article className="card" aria-label={agentLabel(agent.id)}>
      <div className="card-head">
        <h3>{agentLabel(agent.id)}</h3>
        <span className="mono muted">{agent.id}</span>
        <span className={agent.installed ? "pill good" : "pill"}>{installState(agent)}</span>
        <span className={agent.credentialsAvailable ? "pill good" : "pill warn"}>
          {agent.credentialsAvailable ? "credentials" : "no credentials"}
        </span>
        <span className="grow" />
        <button type="button" className="button small" disabled={task.running} onClick={install}>
          {task.running ? "Installing…" : agent.installed ? "Reinstall" : "Install"}
        </button>
      </div>
      <dl className="facts">
        {agent.version && (
          <div>
            <dt>version</dt>
            <dd>{agent.version}</dd>
          </div>
        )}
        {agent.path && (
          <div>
            <dt>path</dt>
            <dd className="mono">{agent.path}</dd>
          </div>
        )}
        {agent.serverStatus && (
          <div>
            <dt>server</dt>
            <dd>
              {agent.serverStatus.status}
              {agent.serverStatus.uptimeMs ? `, up ${duration(agent.serverStatus.uptimeMs)}` : ""}
            </dd>
          </div>
        )}
        {options.map((option) => (
          <div key={option.id}>
            <dt>{option.name}</dt>
            <dd>
              {option.choices
                .slice(0, SHOWN_CHOICES)
                .map((one) => one.name)
                .join(", ")}
              {option.choices.length > SHOWN_CHOICES
                ? ` and ${option.choices.length - SHOWN_CHOICES} more`
                : ""}
            </dd>
          </div>
        ))}
      </dl>
      <OptionsStatus agent={agent} />
      {lines.length > 0 && (
        <pre className="progress" role="status" aria-label="Install progress">
          {lines.join("\n")}
        </pre>
      )}
      {outcome && (
        <p className="good-text" role="status">
          {outcome}
        </p>
      )}
      {task.error !== undefined && <ErrorBox error={task.error} retry={install} />}
      <ul className="flags" aria-label="Capabilities">
        {flags.map(([name, has]) => (
          <li key={name} className={has ? "has" : ""}>
            <span className="visually-hidden">{has ? "has " : "lacks "}</span>
            {name}
          </li>
        ))}
      </ul>
    </article>
  );
}
