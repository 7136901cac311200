/** The comparisons that this tab has open. They go on while another part of the page is shown. */

import { Comparison, type Wanted } from "./comparison";
import { storedComparisons } from "./record";
import type { AppState } from "../state/appState";

const opened = new WeakMap<AppState, Map<string, Comparison>>();

function comparisonsOf(app: AppState): Map<string, Comparison> {
  const known = opened.get(app) ?? new Map<string, Comparison>();
  opened.set(app, known);
  return known;
}

export async function startComparison(app: AppState, wanted: Wanted): Promise<Comparison> {
  const comparison = await Comparison.start(app, wanted);
  comparisonsOf(app).set(comparison.state.get().record.id, comparison);
  return comparison;
}

/** A comparison of this browser; undefined if it does not know it. */
export function openComparison(app: AppState, id: string): Comparison | undefined {
  const known = comparisonsOf(app).get(id);
  if (known) return known;
  const record = storedComparisons(app.http.origin).find((one) => one.id === id);
  if (!record) return undefined;
  const comparison = new Comparison(app, record);
  comparisonsOf(app).set(id, comparison);
  void comparison.restore();
  return comparison;
}
