/** Create a session: agent and its key, directory, options, MCP servers of the directory. */

import { useCallback, useEffect, useMemo, useRef, useState, type FormEvent } from "react";
import type { AgentInfo } from "../api/bodies";
import type { ServerApi } from "../api/server";
import { createSession } from "../session/lifecycle";
import { acpServers, type AcpServers } from "../session/mcpServers";
import { selectOptions } from "../session/options";
import type { StartProgress } from "../session/startProgress";
import { useAppState } from "../state/appState";
import { agentsChanged } from "../state/selection";
import { useDefaultDirectory } from "../state/useDefaultDirectory";
import type { SessionRecord } from "../storage/sessionRecord";
import { agentLabel } from "../ui/agentLabel";
import { Dialog } from "../ui/Dialog";
import { Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { ProgressBar } from "../ui/ProgressBar";
import { useLoaded } from "../ui/hooks/useLoaded";
import { useStored } from "../ui/hooks/useStored";
import { useTask } from "../ui/hooks/useTask";
import { DirectoryField } from "./DirectoryField";
import { KeyField } from "./KeyField";
import { chooseLogin, LoginChoiceField, type LoginChoice } from "./LoginChoiceField";
import { OptionInput } from "./OptionInput";
import { OptionsStatus, useAskedAgents } from "./OptionsStatus";
import { SkillsField } from "./SkillsField";
import { rememberDirectory } from "./recentDirectories";
import { useAgents } from "./useAgents";
import { readyFirst } from "./Welcome";

interface Props {
  agent?: string;
  close: () => void;
  created: (session: SessionRecord) => void;
}

export function NewSessionDialog({ agent, close, created }: Props) {
  const app = useAppState();
  const { api } = app;
  const agents = useAgents(api);
  const [chosen, setChosen] = useState(agent ?? "");
  const [directory, setDirectory] = useStored("directory", "");
  const [values, setValues] = useState<Record<string, string>>({});
  const [environment, setEnvironment] = useState<Record<string, string>>({});
  const [withMcp, setWithMcp] = useState(true);
  const [withSkills, setWithSkills] = useState(true);
  const [login, setLogin] = useState<LoginChoice>();
  const [progress, setProgress] = useState<StartProgress>({ text: "" });
  const task = useTask();
  const creation = useRef(new AbortController());
  const about = useLoaded(useCallback(async () => (chosen ? api.agent(chosen) : undefined), [api, chosen]));
  // While another agent is loaded, the value is still that of the agent before.
  const described = about.value?.id === chosen ? about.value : undefined;
  useAskedAgents(about, described ? [described] : []);
  const configOptions = described?.configOptions;
  const options = useMemo(() => selectOptions({ configOptions }), [configOptions]);
  const mcp = useLoaded(useCallback(() => configuredServers(api, directory), [api, directory]));
  const skills = useLoaded(useCallback(() => configuredSkills(api, directory), [api, directory]));
  const listed = agents.value?.find((one) => one.id === chosen);

  useDefaultDirectory(directory, setDirectory);
  // Leaving the dialog, by whichever way, ends a start that is under way.
  useEffect(() => {
    const controller = creation.current;
    return () => controller.abort();
  }, []);

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const { signal } = creation.current;
    const mcpServers = withMcp ? (mcp.value?.servers ?? []) : [];
    const cwd = directory.trim();
    const folder = withSkills && skills.value?.length ? described?.skillsDirectory : undefined;
    const given = folder === undefined ? {} : { skills: folder };
    const wanted = { agent: chosen, cwd, options: values, mcpServers, environment, ...given };
    void task.run(async () => {
      const session = await createSession(app, wanted, setProgress, signal, chooseLogin(setLogin));
      rememberDirectory(cwd);
      if (!listed?.installed) agentsChanged.set(agentsChanged.get() + 1);
      if (!signal.aborted) created(session);
    });
  };
  const choose = (id: string) => {
    setChosen(id);
    setValues({});
    setEnvironment({});
  };

  return (
    <Dialog title="New session" close={close}>
      <form className="form" onSubmit={submit}>
        <fieldset className="agent-choice" disabled={task.running}>
          <legend>Agent</legend>
          {agents.loading && !agents.value && <Loading what="the agents" />}
          {agents.error !== undefined && <ErrorBox error={agents.error} retry={agents.reload} />}
          {readyFirst(agents.value ?? []).map((one) => (
            <AgentRadio key={one.id} agent={one} checked={one.id === chosen} choose={() => choose(one.id)} />
          ))}
        </fieldset>
        {listed && !listed.credentialsAvailable && (
          <KeyField key={chosen} agent={listed} change={setEnvironment} />
        )}
        <DirectoryField value={directory} change={setDirectory} />
        <div className="form-row options-row">
          {options.map((option) => (
            <OptionInput
              key={option.id || option.category}
              option={option}
              value={values[option.category] ?? ""}
              change={(value) => setValues({ ...values, [option.category]: value })}
              custom={option.category === "model"}
            />
          ))}
        </div>
        {described && <OptionsStatus agent={described} />}
        {(mcp.value?.servers.length ?? 0) > 0 && (
          <label className="check">
            <input type="checkbox" checked={withMcp} onChange={(event) => setWithMcp(event.target.checked)} />
            Give it the MCP servers of this directory: {mcp.value?.servers.map(({ name }) => name).join(", ")}
          </label>
        )}
        {mcp.value?.leftOut.map(({ name, field, reason }) => (
          <p key={name} className="muted">
            The MCP server {name} is left out. <code>{field}</code>: {reason}.
          </p>
        ))}
        {skills.value && skills.value.length > 0 && (
          <SkillsField names={skills.value} agent={described} checked={withSkills} change={setWithSkills} />
        )}
        {login && <LoginChoiceField {...login} />}
        {task.error !== undefined && <ErrorBox error={task.error} />}
        {task.running && <ProgressBar text={progress.text} percent={progress.percent} />}
        <div className="dialog-actions">
          <span className="grow" />
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

async function configuredSkills(api: ServerApi, directory: string): Promise<string[]> {
  if (!directory.startsWith("/")) return [];
  return Object.keys(await api.configEntries("skills", directory));
}

async function configuredServers(api: ServerApi, directory: string): Promise<AcpServers> {
  if (!directory.startsWith("/")) return { servers: [], leftOut: [] };
  return acpServers(await api.configEntries("mcp", directory), directory);
}
