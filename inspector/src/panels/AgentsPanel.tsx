/** The agents of the server: state, version, options, capabilities, and installing them. */

import { useMemo, useState } from "react";
import type { AgentInfo } from "../api/bodies";
import type { InstallStep } from "../api/server";
import { selectOptions } from "../session/options";
import { OptionsStatus, useAskedAgents } from "../newSession/OptionsStatus";
import { useAgents } from "../newSession/useAgents";
import { useAppState } from "../state/appState";
import { agentsChanged } from "../state/selection";
import { agentLabel } from "../ui/agentLabel";
import { Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { duration } from "../ui/format";
import { Icon } from "../ui/Icon";
import { ProgressBar } from "../ui/ProgressBar";
import { useTask } from "../ui/hooks/useTask";

const SHOWN_CHOICES = 8;

export function AgentsPanel() {
  const { api } = useAppState();
  const agents = useAgents(api, true);
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
          <AgentCard key={agent.id} agent={agent} />
        ))}
      </div>
    </div>
  );
}

function installState(agent: AgentInfo): string {
  if (!agent.installing) return agent.installed ? "installed" : "not installed";
  return agent.installing.percent == null ? "installing" : `installing, ${agent.installing.percent} %`;
}

function AgentCard({ agent }: { agent: AgentInfo }) {
  const app = useAppState();
  const [progress, setProgress] = useState<InstallStep>({ text: "Starting the install" });
  const [outcome, setOutcome] = useState("");
  const task = useTask();
  const install = () => {
    setOutcome("");
    void task.run(async () => {
      const result = await app.api.install(agent.id, agent.installed, setProgress);
      const parts = result.artifacts.map(
        (artifact) => `${artifact.kind} ${artifact.version ?? ""} (${artifact.source})`,
      );
      setOutcome(
        result.already_installed ? "It was installed already." : `Installed ${parts.join(", ") || "it"}.`,
      );
      agentsChanged.set(agentsChanged.get() + 1);
    });
  };
  const { configOptions } = agent;
  const options = useMemo(() => selectOptions({ configOptions }), [configOptions]);
  const flags = Object.entries(agent.capabilities);
  return (
    <article className="card" aria-label={agentLabel(agent.id)}>
      <div className="card-top">
        <div className="card-head">
          <h3>{agentLabel(agent.id)}</h3>
          <span className="mono muted">{agent.id}</span>
          <span className={agent.installed ? "pill good" : "pill"}>{installState(agent)}</span>
          <span className={agent.credentialsAvailable ? "pill good" : "pill warn"}>
            {agent.credentialsAvailable ? "credentials" : "no credentials"}
          </span>
        </div>
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
      {task.running ? (
        <ProgressBar text={progress.text} percent={progress.percent} />
      ) : (
        agent.installing && (
          <ProgressBar text={agent.installing.message} percent={agent.installing.percent ?? undefined} />
        )
      )}
      {outcome && (
        <p className="good-text" role="status">
          {outcome}
        </p>
      )}
      {task.error !== undefined && <ErrorBox error={task.error} retry={install} />}
      {!agent.credentialsAvailable && agent.credentialVariables && (
        <p className="muted small-text">
          Reads its key from{" "}
          {agent.credentialVariables.map((name, index) => (
            <span key={name}>
              {index > 0 && ", "}
              <code>{name}</code>
            </span>
          ))}
          . The dialog of a new session takes one.
        </p>
      )}
      {agent.quirks && (
        <details>
          <summary>Good to know</summary>
          <ul className="quirks">
            {agent.quirks.map((quirk) => (
              <li key={quirk}>{quirk}</li>
            ))}
          </ul>
        </details>
      )}
      <ul className="flags" aria-label="Capabilities">
        {flags.map(([name, has]) =>
          has ? (
            <li key={name} className="has">
              {name}
            </li>
          ) : null,
        )}
      </ul>
    </article>
  );
}
