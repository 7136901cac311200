/** Create a session: agent, directory, model, mode, MCP servers of the directory. */

import type { McpServer } from "@agentclientprotocol/sdk";
import { useCallback, useMemo, useState, type FormEvent } from "react";
import type { AgentInfo } from "../api/bodies";
import type { ServerApi } from "../api/server";
import { useAppState } from "../state/appState";
import { useDefaultDirectory } from "../state/useDefaultDirectory";
import type { SessionRecord } from "../storage/sessionRecord";
import { agentLabel } from "../ui/agentLabel";
import { Dialog } from "../ui/Dialog";
import { Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { useLoaded } from "../ui/useLoaded";
import { useStored } from "../ui/useStored";
import { useTask } from "../ui/useTask";
import { createSession } from "./lifecycle";
import { acpServers } from "./mcpServers";
import { selectOptions, type SelectOption } from "./options";
import { OptionsStatus, useAskedAgents } from "./OptionsStatus";
import { readyFirst } from "./Welcome";

interface Props {
  agent?: string;
  close: () => void;
  created: (session: SessionRecord) => void;
}

export function NewSessionDialog({ agent, close, created }: Props) {
  const app = useAppState();
  const { api } = app;
  const agents = useLoaded(useCallback(() => api.agents(), [api]));
  const [chosen, setChosen] = useState(agent ?? "");
  const [directory, setDirectory] = useStored("directory", "");
  const [model, setModel] = useState("");
  const [mode, setMode] = useState("");
  const [withMcp, setWithMcp] = useState(true);
  const [progress, setProgress] = useState("");
  const task = useTask();
  const about = useLoaded(useCallback(async () => (chosen ? api.agent(chosen) : undefined), [api, chosen]));
  // While another agent is loaded, the value is still that of the agent before.
  const described = about.value?.id === chosen ? about.value : undefined;
  useAskedAgents(about, described ? [described] : []);
  const configOptions = described?.configOptions;
  const options = useMemo(() => selectOptions({ configOptions }), [configOptions]);
  const mcp = useLoaded(useCallback(() => configuredServers(api, directory), [api, directory]));

  useDefaultDirectory(directory, setDirectory);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const mcpServers = withMcp ? (mcp.value ?? []) : [];
    const wanted = { agent: chosen, cwd: directory.trim(), model: model.trim(), mode, mcpServers };
    void task.run(async () => created(await createSession(app, wanted, setProgress)));
  };

  return (
    <Dialog title="New session" close={close}>
      <form className="form" onSubmit={submit}>
        <fieldset className="agent-choice">
          <legend>Agent</legend>
          {agents.loading && !agents.value && <Loading what="the agents" />}
          {agents.error !== undefined && <ErrorBox error={agents.error} retry={agents.reload} />}
          {readyFirst(agents.value ?? []).map((one) => (
            <AgentRadio
              key={one.id}
              agent={one}
              checked={one.id === chosen}
              choose={() => {
                setChosen(one.id);
                setModel("");
                setMode("");
              }}
            />
          ))}
        </fieldset>
        <label>
          Directory
          <input
            value={directory}
            onChange={(event) => setDirectory(event.target.value)}
            required
            pattern="/.*"
            title="An absolute path on the server's machine"
            className="mono"
            spellCheck={false}
          />
        </label>
        <div className="form-row">
          <OptionInput
            label="Model"
            option={options.find((one) => one.category === "model")}
            value={model}
            change={setModel}
            custom
          />
          <OptionInput
            label="Mode"
            option={options.find((one) => one.category === "mode")}
            value={mode}
            change={setMode}
          />
        </div>
        {described && <OptionsStatus agent={described} />}
        {(mcp.value?.length ?? 0) > 0 && (
          <label className="check">
            <input type="checkbox" checked={withMcp} onChange={(event) => setWithMcp(event.target.checked)} />
            Give it the MCP servers of this directory: {mcp.value?.map((server) => server.name).join(", ")}
          </label>
        )}
        {task.error !== undefined && <ErrorBox error={task.error} />}
        <div className="dialog-actions">
          <span className="muted grow" role="status">
            {task.running ? progress : ""}
          </span>
          <button type="button" className="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" className="button primary" disabled={!chosen || task.running}>
            {task.running ? "Creating…" : "Create session"}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** The page serves no terminal. */
function neverAsks(agent: AgentInfo): boolean {
  return agent.permissionRequests === "never" || agent.permissionRequests === "terminal";
}

function AgentRadio({ agent, checked, choose }: { agent: AgentInfo; checked: boolean; choose: () => void }) {
  return (
    <label className={checked ? "agent-option chosen" : "agent-option"}>
      <input type="radio" name="agent" value={agent.id} checked={checked} onChange={choose} />
      <span>{agentLabel(agent.id)}</span>
      <span className={agent.installed ? "pill good" : "pill"}>
        {agent.installed ? "installed" : "not installed"}
      </span>
      {!agent.credentialsAvailable && <span className="pill warn">no credentials</span>}
      {neverAsks(agent) && <span className="pill warn">every tool runs without asking</span>}
    </label>
  );
}

interface OptionProps {
  label: string;
  option?: SelectOption;
  value: string;
  change: (value: string) => void;
  custom?: boolean;
}

const CUSTOM = "\0custom";

function OptionInput({ label, option: offered, value, change, custom = false }: OptionProps) {
  const [typing, setTyping] = useState(false);
  if (!offered) return null;
  if (typing) {
    return (
      <label>
        {label}
        <input
          value={value}
          autoFocus
          placeholder="Name of the model"
          onChange={(event) => change(event.target.value)}
        />
        <button
          type="button"
          className="link-button"
          onClick={() => {
            setTyping(false);
            change("");
          }}
        >
          Back to the list
        </button>
      </label>
    );
  }
  const chosen = (selected: string) => (selected === CUSTOM ? setTyping(true) : change(selected));
  return (
    <label>
      {label}
      <select aria-label={label} value={value} onChange={(event) => chosen(event.target.value)}>
        <option value="">
          Default (
          {offered.choices.find((one) => one.value === offered.currentValue)?.name ?? offered.currentValue})
        </option>
        {offered.choices.map((one) => (
          <option key={one.value} value={one.value}>
            {one.name}
          </option>
        ))}
        {custom && <option value={CUSTOM}>Custom…</option>}
      </select>
    </label>
  );
}

async function configuredServers(api: ServerApi, directory: string): Promise<McpServer[]> {
  if (!directory.startsWith("/")) return [];
  return acpServers(await api.configEntries("mcp", directory));
}
