/** The figures, the filters and the table. */

import { useMemo, useState } from "react";
import { Empty } from "../../ui/Empty";
import { Icon } from "../../ui/Icon";
import { showRuns } from "../address";
import { FiguresBar } from "./FiguresBar";
import { outcome, type Run } from "../run";
import { RunsTable } from "./RunsTable";
import { selectRuns, values, type Selection } from "./selectRuns";

interface Props {
  runs: readonly Run[];
  selection: Selection;
  select: (selection: Selection) => void;
}

export function RunsPage({ runs, selection, select }: Props) {
  const shown = useMemo(() => selectRuns(runs, selection), [runs, selection]);
  const [marked, setMarked] = useState<readonly string[]>([]);
  const change = (part: Partial<Selection>) => select({ ...selection, ...part });
  /** The two marked last are those to compare. */
  const mark = (id: string) =>
    setMarked(marked.includes(id) ? marked.filter((one) => one !== id) : [...marked, id].slice(-2));
  return (
    <main className="runs-page">
      <FiguresBar runs={shown} filterBy={(kind) => change({ outcome: kind })} />
      <div className="runs-filters" role="search">
        <input
          type="search"
          aria-label="Search in ids, texts and errors"
          placeholder="Search in ids, texts and errors"
          value={selection.text}
          onChange={(event) => change({ text: event.target.value })}
        />
        <Choice
          label="Outcome"
          value={selection.outcome}
          options={["failed", ...values(runs, outcome)]}
          choose={(value) => change({ outcome: value })}
        />
        <Choice
          label="Agent"
          value={selection.agent}
          options={values(runs, (run) => run.agent)}
          choose={(agent) => change({ agent })}
        />
        <Choice
          label="Node"
          value={selection.node}
          options={values(runs, (run) => run.node)}
          choose={(node) => change({ node })}
        />
        <span className="muted nowrap" role="status">
          {shown.length.toLocaleString()} of {runs.length.toLocaleString()} runs
        </span>
        <button
          type="button"
          className="button small"
          disabled={marked.length !== 2}
          title="Mark two runs in the table"
          onClick={() => showRuns(marked)}
        >
          <Icon name="panel" size={14} /> Compare
        </button>
      </div>
      {shown.length === 0 ? (
        <Empty title={runs.length === 0 ? "No run has finished yet" : "No run matches"} />
      ) : (
        <RunsTable runs={shown} selection={selection} change={change} marked={marked} mark={mark} />
      )}
    </main>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: readonly string[];
  choose: (value: string) => void;
}

function Choice({ label, value, options, choose }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => choose(event.target.value)}>
      <option value="">{label}: all</option>
      {options.map((option) => (
        <option key={option} value={option}>
          {option}
        </option>
      ))}
    </select>
  );
}
