import { outcome, type Run } from "../run";

export function OutcomePill({ run }: { run: Run }) {
  const tone = run.error_kind ? "bad" : run.passed ? "good" : "warn";
  return <span className={`pill ${tone}`}>{outcome(run)}</span>;
}
