/** Create a session: agent, directory, model, mode, MCP servers of the directory. */

import { useState, type FormEvent } from "react";
import type { AgentInfo, ConfigOption } from "../api/server";
import type { JsonObject } from "../json";
import type { SessionRecord } from "../storage/records";
import { agentLabel } from "../ui/agentLabel";
import { Dialog } from "../ui/Dialog";
import { Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { useLoaded } from "../ui/useLoaded";
import { useStored } from "../ui/useStored";
import { useTask } from "../ui/useTask";
import { createSession } from "./lifecycle";
import { acpServers } from "./mcpServers";
import { readyFirst } from "./Welcome";
import { useHomeWhenEmpty } from "./useHomeWhenEmpty";
import { useWorkbench } from "./workbench";

interface Props {
  agent?: string;
  close(): void;
  created(session: SessionRecord): void;
}

export function NewSessionDialog({ agent, close, created }: Props) {
  const workbench = useWorkbench();
  const agents = useLoaded(() => workbench.api.agents(), [workbench]);
  const [chosen, setChosen] = useState(agent ?? "");
  const [directory, setDirectory] = useStored("directory", "");
  const [model, setModel] = useState("");
  const [mode, setMode] = useState("");
  const [withMcp, setWithMcp] = useState(true);
  const [progress, setProgress] = useState("");
  const task = useTask();
  const about = useLoaded(async () => (chosen ? workbench.api.agent(chosen) : undefined), [chosen]);
  const mcp = useLoaded(() => configuredServers(workbench, directory), [directory]);

  useHomeWhenEmpty(directory, setDirectory);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const mcpServers = withMcp ? (mcp.value ?? []) : [];
    const wanted = { agent: chosen, cwd: directory.trim(), model: model.trim(), mode, mcpServers };
    void task.run(async () => created(await createSession(workbench, wanted, setProgress)));
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
            option={option(about.value, "model")}
            value={model}
            change={setModel}
            custom
          />
          <OptionInput label="Mode" option={option(about.value, "mode")} value={mode} change={setMode} />
        </div>
        {about.value?.configError && (
          <p className="muted small-text">Options could not be read: {about.value.configError}</p>
        )}
        {(mcp.value?.length ?? 0) > 0 && (
          <label className="check">
            <input type="checkbox" checked={withMcp} onChange={(event) => setWithMcp(event.target.checked)} />
            Give it the MCP servers of this directory:{" "}
            {mcp.value?.map((server) => String(server.name)).join(", ")}
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

function AgentRadio({ agent, checked, choose }: { agent: AgentInfo; checked: boolean; choose: () => void }) {
  return (
    <label className={checked ? "agent-option chosen" : "agent-option"}>
      <input type="radio" name="agent" value={agent.id} checked={checked} onChange={choose} />
      <span>{agentLabel(agent.id)}</span>
      <span className={agent.installed ? "pill good" : "pill"}>
        {agent.installed ? "installed" : "not installed"}
      </span>
      {!agent.credentialsAvailable && <span className="pill warn">no credentials</span>}
    </label>
  );
}

function option(agent: AgentInfo | undefined, category: string): ConfigOption | undefined {
  return agent?.configOptions?.find((one) => one.category === category || one.id === category);
}

interface OptionProps {
  label: string;
  option?: ConfigOption;
  value: string;
  change(value: string): void;
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
          {offered.options.find((one) => one.value === offered.currentValue)?.name ?? offered.currentValue})
        </option>
        {offered.options.map((one) => (
          <option key={one.value} value={one.value}>
            {one.name}
          </option>
        ))}
        {custom && <option value={CUSTOM}>Custom…</option>}
      </select>
    </label>
  );
}

async function configuredServers(
  workbench: ReturnType<typeof useWorkbench>,
  directory: string,
): Promise<JsonObject[]> {
  if (!directory.startsWith("/")) return [];
  return acpServers(await workbench.api.configEntries("mcp", directory));
}
