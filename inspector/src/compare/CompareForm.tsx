/** Starts a comparison: directory, prompt, test command and candidates. */

import { useCallback, useState, type FormEvent } from "react";
import { ApiProblem } from "../api/problem";
import type { AgentInfo } from "../api/bodies";
import { DirectoryField } from "../newSession/DirectoryField";
import { KeyField } from "../newSession/KeyField";
import { OptionInput } from "../newSession/OptionInput";
import { OptionsStatus, useAskedAgents } from "../newSession/OptionsStatus";
import { useAgents } from "../newSession/useAgents";
import { readyFirst } from "../newSession/Welcome";
import { selectOptions } from "../session/options";
import { useAppState } from "../state/appState";
import { go } from "../state/route";
import { useDefaultDirectory } from "../state/useDefaultDirectory";
import { agentLabel } from "../ui/agentLabel";
import { Empty } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { ago, count } from "../ui/format";
import { Icon } from "../ui/Icon";
import { useLoaded } from "../ui/hooks/useLoaded";
import { useStored } from "../ui/hooks/useStored";
import { useTask } from "../ui/hooks/useTask";
import { CommandFailed, Commands } from "./commands";
import { startComparison } from "./openComparisons";
import { storedComparisons } from "./record";
import { Repository } from "./repository";
import { WorktreeList } from "./WorktreeList";

/** Each candidate holds a stream, and a browser opens six connections to one host. */
const MAX_CANDIDATES = 4;

interface Row {
  key: number;
  agent: string;
  model: string;
  environment: Record<string, string>;
}

const NOTHING_CHOSEN = { agent: "", model: "", environment: {} };

export function CompareForm() {
  const app = useAppState();
  const agents = useAgents(app.api, true);
  const [directory, setDirectory] = useStored("directory", "");
  const [prompt, setPrompt] = useState("");
  const [testCommand, setTestCommand] = useStored("compare-test", "");
  const [rows, setRows] = useState<Row[]>([
    { key: 1, ...NOTHING_CHOSEN },
    { key: 2, ...NOTHING_CHOSEN },
  ]);
  const task = useTask();
  useDefaultDirectory(directory, setDirectory);
  const repository = useLoaded(
    useCallback(() => look(new Commands(app.http), directory.trim()), [app, directory]),
  );
  const found = repository.loading ? undefined : repository.value;
  useAskedAgents(agents, agents.value ?? []);
  const ready = found !== undefined && rows.every((row) => row.agent !== "");

  const change = (key: number, fields: Partial<Row>) =>
    setRows((before) => before.map((row) => (row.key === key ? { ...row, ...fields } : row)));
  const add = () =>
    setRows([...rows, { key: Math.max(...rows.map((row) => row.key)) + 1, ...NOTHING_CHOSEN }]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void task.run(async () => {
      const candidates = rows.map(({ agent, model, environment }) => ({ agent, model, environment }));
      const wanted = { directory: directory.trim(), prompt, testCommand: testCommand.trim(), candidates };
      const comparison = await startComparison(app, wanted);
      go({ page: "compare", id: comparison.state.get().record.id });
    });
  };

  return (
    <section className="compare" aria-label="Compare agents">
      <div className="compare-start">
        <h1>Compare agents</h1>
        <p className="muted">
          One prompt, several agents or models. Each works in a git worktree of its own; you keep the changes
          of one of them.
        </p>
        <form className="form" onSubmit={submit}>
          <DirectoryField value={directory} change={setDirectory} />
          {!repository.loading && repository.error !== undefined && <NoRepository error={repository.error} />}
          {found && found.untracked > 0 && (
            <p className="warn-text small-text" role="status">
              {count(found.untracked, "file")} that git does not track will be missing in the worktrees.
            </p>
          )}
          <label>
            Prompt
            <textarea
              rows={4}
              required
              value={prompt}
              onChange={(event) => setPrompt(event.target.value)}
              placeholder="What every candidate gets to do"
            />
          </label>
          <fieldset className="compare-candidates">
            <legend>Candidates</legend>
            {agents.error !== undefined && <ErrorBox error={agents.error} retry={agents.reload} />}
            {rows.map((row, index) => (
              <CandidateRow
                key={row.key}
                number={index + 1}
                row={row}
                agents={readyFirst(agents.value ?? [])}
                change={(fields) => change(row.key, fields)}
                remove={rows.length > 1 ? () => setRows(rows.filter((one) => one !== row)) : undefined}
              />
            ))}
            {rows.length < MAX_CANDIDATES && (
              <button type="button" className="link-button" onClick={add}>
                <Icon name="plus" size={14} /> Add a candidate
              </button>
            )}
          </fieldset>
          <label>
            Test command (optional)
            <input
              className="mono"
              value={testCommand}
              onChange={(event) => setTestCommand(event.target.value)}
              placeholder="run in each worktree when its turn has ended"
              spellCheck={false}
            />
          </label>
          {task.error !== undefined && <ErrorBox error={task.error} />}
          <div className="dialog-actions">
            <span className="grow" />
            <button type="submit" className="button primary" disabled={!ready || task.running}>
              {task.running ? "Making the worktrees…" : "Start"}
            </button>
          </div>
        </form>
        {found && <WorktreeList repository={found.repository} />}
        <Earlier />
      </div>
    </section>
  );
}

interface RowProps {
  number: number;
  row: Row;
  agents: AgentInfo[];
  change: (fields: Partial<Row>) => void;
  remove?: () => void;
}

function CandidateRow({ number, row, agents, change, remove }: RowProps) {
  const agent = agents.find((one) => one.id === row.agent);
  const options = selectOptions({ configOptions: agent?.configOptions });
  const model = options.find((option) => option.category === "model");
  return (
    <div className="form-row compare-candidate">
      <label>
        Agent {number}
        <select
          required
          value={row.agent}
          onChange={(event) => change({ ...NOTHING_CHOSEN, agent: event.target.value })}
        >
          <option value="">Choose…</option>
          {agents.map((one) => (
            <option key={one.id} value={one.id}>
              {agentLabel(one.id)}
              {shortcomings(one)}
            </option>
          ))}
        </select>
      </label>
      {model && (
        <OptionInput option={model} value={row.model} change={(value) => change({ model: value })} custom />
      )}
      {remove && (
        <button
          type="button"
          className="icon-button"
          aria-label={`Remove candidate ${number}`}
          onClick={remove}
        >
          <Icon name="close" />
        </button>
      )}
      {agent && !agent.credentialsAvailable && (
        <KeyField key={agent.id} agent={agent} change={(environment) => change({ environment })} />
      )}
      {agent && <OptionsStatus agent={agent} />}
    </div>
  );
}

function shortcomings({ installed, credentialsAvailable }: AgentInfo): string {
  const found = [installed ? "" : "is installed first", credentialsAvailable ? "" : "no credentials"];
  const text = found.filter(Boolean).join(", ");
  return text && ` (${text})`;
}

function NoRepository({ error }: { error: unknown }) {
  if (error instanceof ApiProblem && error.status === 404) {
    return (
      <Empty title="Processes are switched off">
        The server was started with <code>--processes off</code>, so it makes no worktrees. Comparisons need
        them.
      </Empty>
    );
  }
  if (error instanceof CommandFailed) {
    return (
      <p className="warn-text small-text" role="status">
        A comparison needs a git repository with a commit: {error.message}
      </p>
    );
  }
  if (error instanceof ApiProblem && error.status !== 0) {
    return (
      <p className="warn-text small-text" role="status">
        git does not run there: {error.message}
      </p>
    );
  }
  return <ErrorBox error={error} />;
}

function Earlier() {
  const app = useAppState();
  const earlier = storedComparisons(app.http.origin);
  if (earlier.length === 0) return null;
  return (
    <section aria-label="Earlier comparisons">
      <h2>Earlier comparisons</h2>
      <ul className="compare-list">
        {earlier.map((one) => (
          <li key={one.id}>
            <button type="button" className="link-button" onClick={() => go({ page: "compare", id: one.id })}>
              {one.prompt.slice(0, 80)}
            </button>{" "}
            <span className="muted">
              {one.candidates.map((candidate) => agentLabel(candidate.agent)).join(", ")} ·{" "}
              {ago(one.createdAt)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

async function look(commands: Commands, directory: string) {
  if (!directory.startsWith("/")) return undefined;
  const repository = await Repository.of(commands, directory);
  return { repository, untracked: await repository.untracked() };
}
