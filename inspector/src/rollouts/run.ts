/** The rows of an output directory as the server gives them; the names are the columns of the files. */

export interface Run {
  id: string;
  attempt: number;
  agent: string;
  text: string | null;
  stop_reason: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  total_tokens: number | null;
  cost_usd: number | null;
  seconds: number;
  exit_codes: Record<string, number>;
  score: number | null;
  error: string | null;
  error_kind: string | null;
  node: string;
  started_at: string;
  passed: boolean;
}

/** One whole row. */
export interface RunDetails extends Run {
  outputs: Record<string, string>;
  /** Names of the files that the rollout has kept. */
  files: string[];
}

export interface Output {
  /** The path of the directory. */
  output: string;
  rows: Run[];
}

/** `passed`, `not passed`, or the kind of a failure. */
export function outcome(run: Run): string {
  if (run.error_kind) return run.error_kind;
  return run.passed ? "passed" : "not passed";
}
