/** Figures over runs: pass rate, cost, times and failures by kind. */

import type { Run } from "../run";

export interface Figures {
  runs: number;
  passed: number;
  failed: number;
  passRate: number;
  cost: number;
  tokens: number;
  medianSeconds: number;
  p95Seconds: number;
  /** Kinds of failures with their number, the most frequent first. */
  failures: [string, number][];
}

export interface Bin {
  from: number;
  to: number;
  passed: number;
  others: number;
}

const BINS = 24;

export function figures(runs: readonly Run[]): Figures {
  const seconds = runs.map((run) => run.seconds).sort((a, b) => a - b);
  const kinds = new Map<string, number>();
  for (const { error_kind: kind } of runs) if (kind) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
  const passed = runs.filter((run) => run.passed).length;
  return {
    runs: runs.length,
    passed,
    failed: runs.filter((run) => run.error_kind !== null).length,
    passRate: runs.length > 0 ? passed / runs.length : 0,
    cost: sum(runs.map((run) => run.cost_usd)),
    tokens: sum(runs.map((run) => run.total_tokens)),
    medianSeconds: percentile(seconds, 0.5),
    p95Seconds: percentile(seconds, 0.95),
    failures: [...kinds].sort((a, b) => b[1] - a[1]),
  };
}

/** How many runs took how long, in bins of the same width. */
export function histogram(runs: readonly Run[], bins = BINS): Bin[] {
  if (runs.length === 0) return [];
  const low = runs.reduce((least, run) => Math.min(least, run.seconds), Infinity);
  const high = runs.reduce((most, run) => Math.max(most, run.seconds), 0);
  const width = (high - low) / bins || 1;
  const made = Array.from({ length: bins }, (_, at): Bin => {
    return { from: low + at * width, to: low + (at + 1) * width, passed: 0, others: 0 };
  });
  for (const run of runs) {
    const bin = made[Math.min(Math.floor((run.seconds - low) / width), bins - 1)]!;
    if (run.passed) bin.passed += 1;
    else bin.others += 1;
  }
  return made;
}

function sum(parts: readonly (number | null)[]): number {
  return parts.reduce<number>((total, part) => total + (part ?? 0), 0);
}

/** Of sorted values, between the two nearest ones. */
function percentile(sorted: readonly number[], share: number): number {
  if (sorted.length === 0) return 0;
  const place = (sorted.length - 1) * share;
  const [below, above] = [sorted[Math.floor(place)]!, sorted[Math.ceil(place)]!];
  return below + (above - below) * (place - Math.floor(place));
}
