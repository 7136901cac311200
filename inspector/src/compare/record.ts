/** Comparisons of this browser, so that a reload shows them again. The conversations are sessions like others. */

import { parseJson } from "../json";
import { readStored, writeStored } from "../ui/hooks/useStored";

export interface TestResult {
  /** Absent if the command was ended by the time-out or a signal. */
  exitCode?: number;
  output: string;
  durationMs: number;
}

export interface Candidate {
  agent: string;
  model: string;
  path: string;
  /** Absent until the session is created. */
  sessionId?: string;
  /** Why it could not be started. */
  error?: string;
  test?: TestResult;
  removed?: boolean;
}

export interface ComparisonRecord {
  id: string;
  origin: string;
  directory: string;
  top: string;
  base: string;
  prompt: string;
  testCommand: string;
  createdAt: number;
  candidates: Candidate[];
  /** Index of the candidate whose changes were applied. */
  kept?: number;
}

const KEY = "comparisons";
const MAX_KEPT = 30;

/** Newest first. */
export function storedComparisons(origin: string): ComparisonRecord[] {
  const parsed = parseJson(readStored(KEY) ?? "[]");
  const all = Array.isArray(parsed) ? (parsed as unknown as ComparisonRecord[]) : [];
  return all.filter((one) => one.origin === origin);
}

export function storeComparison(record: ComparisonRecord): void {
  const parsed = parseJson(readStored(KEY) ?? "[]");
  const all = Array.isArray(parsed) ? (parsed as unknown as ComparisonRecord[]) : [];
  const others = all.filter((one) => one.id !== record.id);
  writeStored(KEY, JSON.stringify([record, ...others].slice(0, MAX_KEPT)));
}
