/** The runs as a table; only the visible rows are in the page, so that ten thousand runs are no burden. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useRef } from "react";
import { duration } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { showRuns } from "../address";
import { money } from "../money";
import { OutcomePill } from "./OutcomePill";
import type { Run } from "../run";
import type { Column, Selection } from "./selectRuns";

const ROW_PX = 34;
const OVERSCAN_ROWS = 12;

const COLUMNS: [Column, string][] = [
  ["id", "Run"],
  ["outcome", "Outcome"],
  ["score", "Score"],
  ["seconds", "Time"],
  ["cost_usd", "Cost"],
  ["total_tokens", "Tokens"],
  ["node", "Node"],
  ["started_at", "Started"],
];

interface Props {
  runs: readonly Run[];
  selection: Selection;
  change: (part: Partial<Selection>) => void;
  marked: readonly string[];
  mark: (id: string) => void;
}

export function RunsTable({ runs, selection, change, marked, mark }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: runs.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    getItemKey: (index) => runs[index]!.id,
    overscan: OVERSCAN_ROWS,
  });
  const sort = (column: Column) =>
    change({ column, descending: selection.column === column && !selection.descending });
  return (
    <div className="runs-table" ref={scroller} role="table" aria-label="Runs" aria-rowcount={runs.length + 1}>
      <div className="runs-row runs-columns" role="row">
        <span role="columnheader">
          <span className="visually-hidden">Compare</span>
        </span>
        {COLUMNS.map(([column, label]) => (
          <span key={column} role="columnheader" aria-sort={sorting(selection, column)}>
            <button type="button" onClick={() => sort(column)}>
              {label}
              {selection.column === column && (
                <Icon name={selection.descending ? "arrowDown" : "arrowUp"} size={12} />
              )}
            </button>
          </span>
        ))}
        <span role="columnheader">Answer or error</span>
      </div>
      <div className="runs-rows" role="rowgroup" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map((row) => (
          <div
            key={row.key}
            className="runs-row"
            role="row"
            aria-rowindex={row.index + 2}
            style={{ transform: `translateY(${row.start}px)` }}
          >
            <RunCells run={runs[row.index]!} marked={marked.includes(runs[row.index]!.id)} mark={mark} />
          </div>
        ))}
      </div>
    </div>
  );
}

function RunCells({ run, marked, mark }: { run: Run; marked: boolean; mark: (id: string) => void }) {
  const dash = "–";
  return (
    <>
      <span role="cell">
        <input
          type="checkbox"
          aria-label={`Compare ${run.id}`}
          checked={marked}
          onChange={() => mark(run.id)}
        />
      </span>
      <span role="cell" className="ellipsis">
        <button type="button" className="link-button mono" title={run.id} onClick={() => showRuns([run.id])}>
          {run.id}
        </button>
        {run.attempt > 1 && <span className="muted small-text"> attempt {run.attempt}</span>}
      </span>
      <span role="cell">
        <OutcomePill run={run} />
      </span>
      <span role="cell">{run.score ?? dash}</span>
      <span role="cell">{duration(run.seconds * 1000)}</span>
      <span role="cell">{run.cost_usd === null ? dash : money(run.cost_usd)}</span>
      <span role="cell">{run.total_tokens?.toLocaleString() ?? dash}</span>
      <span role="cell" className="ellipsis" title={run.node}>
        {run.node}
      </span>
      <span role="cell">{run.started_at.slice(11, 19)}</span>
      <span role="cell" className={`ellipsis ${run.error ? "bad-text" : "muted"}`}>
        {run.error ?? run.text}
      </span>
    </>
  );
}

function sorting(selection: Selection, column: Column): "ascending" | "descending" | "none" {
  if (selection.column !== column) return "none";
  return selection.descending ? "descending" : "ascending";
}
