/** Which runs the table shows, and in which order. */

import { outcome, type Run } from "../run";

export type Column =
  "id" | "outcome" | "score" | "seconds" | "cost_usd" | "total_tokens" | "node" | "started_at";

export interface Selection {
  text: string;
  /** Empty for all. */
  outcome: string;
  agent: string;
  node: string;
  column: Column;
  descending: boolean;
}

export const ALL: Selection = {
  text: "",
  outcome: "",
  agent: "",
  node: "",
  column: "started_at",
  descending: false,
};

export function selectRuns(runs: readonly Run[], selection: Selection): Run[] {
  const text = selection.text.trim().toLowerCase();
  const shown = runs.filter(
    (run) =>
      isOutcome(run, selection.outcome) &&
      (!selection.agent || run.agent === selection.agent) &&
      (!selection.node || run.node === selection.node) &&
      (!text || `${run.id}\n${run.text ?? ""}\n${run.error ?? ""}`.toLowerCase().includes(text)),
  );
  const sign = selection.descending ? -1 : 1;
  return shown.sort((a, b) => compare(a, b, selection.column, sign) || byText(a.id, b.id));
}

function isOutcome(run: Run, wanted: string): boolean {
  if (!wanted) return true;
  if (wanted === "failed") return run.error_kind !== null;
  return outcome(run) === wanted;
}

/** A run without a value comes last in both directions. */
function compare(a: Run, b: Run, column: Column, sign: number): number {
  const [left, right] = column === "outcome" ? [outcome(a), outcome(b)] : [a[column], b[column]];
  if (left === right) return 0;
  if (left === null) return 1;
  if (right === null) return -1;
  if (typeof left === "number" && typeof right === "number") return sign * (left - right);
  return sign * byText(String(left), String(right));
}

/** Numbers in texts by their value: t2 comes before t10. */
const NATURAL = new Intl.Collator("en", { numeric: true });
function byText(a: string, b: string): number {
  return NATURAL.compare(a, b);
}

export function values(runs: readonly Run[], of: (run: Run) => string): string[] {
  return [...new Set(runs.map(of))].filter(Boolean).sort(byText);
}
