/** The results of all candidates: time, tokens, cost, files, test, and what to do with them. */

import { useState } from "react";
import type { InstanceSnapshot } from "../instance/snapshot";
import { useInstance } from "../instance/useInstance";
import type { OpenSession } from "../session/openSession";
import { useObservable } from "../state/observable";
import { go } from "../state/route";
import { ConfirmButton } from "../ui/ConfirmButton";
import { ErrorBox } from "../ui/ErrorBox";
import { count, duration, money } from "../ui/format";
import { useTask } from "../ui/hooks/useTask";
import { candidateName } from "./candidateName";
import type { CandidateState, Comparison } from "./comparison";
import type { TestResult } from "./record";

export function CompareTable({ comparison }: { comparison: Comparison }) {
  const { record, candidates } = useObservable(comparison.state);
  const task = useTask();
  const [done, setDone] = useState("");
  const keep = (index: number) =>
    void task.run(async () => {
      setDone("");
      await comparison.keep(index);
      setDone(`The changes of ${candidateName(candidates, index)} are in ${record.top}.`);
    });
  const remove = () => void task.run(() => comparison.removeWorktrees());
  const allRemoved = candidates.every((one) => one.removed);
  return (
    <section className="compare-results" aria-label="Results">
      <div className="compare-scroll">
        <table className="compare-table">
          <thead>
            <tr>
              <th scope="col">Candidate</th>
              <th scope="col">Ended</th>
              <th scope="col">Time</th>
              <th scope="col">Tokens</th>
              <th scope="col">Cost</th>
              <th scope="col">Changes</th>
              {record.testCommand && <th scope="col">Test</th>}
              <th scope="col">
                <span className="visually-hidden">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {candidates.map((candidate, index) => (
              <tr key={candidate.path} data-candidate={index + 1}>
                <th scope="row">
                  {candidateName(candidates, index)}
                  {record.kept === index && <span className="pill good">kept</span>}
                </th>
                {candidate.open ? <Spent open={candidate.open} /> : <NothingSpent candidate={candidate} />}
                <td className="changes" data-label="Changes">
                  <ChangeCount candidate={candidate} />
                </td>
                {record.testCommand && (
                  <td data-label="Test">
                    <Test result={candidate.test} measuring={candidate.measuring ?? false} />
                  </td>
                )}
                <td className="compare-actions">
                  {candidate.sessionId && candidate.open && (
                    <button
                      type="button"
                      className="button small"
                      onClick={() => go({ page: "session", id: candidate.sessionId! })}
                    >
                      Open
                    </button>
                  )}
                  {!candidate.removed && (
                    <>
                      <button
                        type="button"
                        className="button small"
                        disabled={candidate.measuring}
                        onClick={() => void comparison.measure(index)}
                      >
                        Measure again
                      </button>
                      <button
                        type="button"
                        className="button small primary"
                        disabled={task.running || !candidate.changes?.files.length}
                        onClick={() => keep(index)}
                      >
                        Keep this one
                      </button>
                    </>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {task.error !== undefined && (
        <div className="compare-note">
          <ErrorBox error={task.error} />
        </div>
      )}
      {done && (
        <p className="compare-note good-text" role="status">
          {done}
        </p>
      )}
      <div className="compare-note">
        {allRemoved ? (
          <span className="muted">The worktrees of this comparison are removed.</span>
        ) : (
          <ConfirmButton
            label="End all and remove the worktrees"
            question="Drop what was not kept?"
            disabled={task.running}
            confirmed={remove}
          />
        )}
      </div>
    </section>
  );
}

function Spent({ open }: { open: OpenSession }) {
  const { conversation }: InstanceSnapshot = useInstance(open.instance);
  const { usage, lastStop, turns } = conversation;
  const time = conversation.turnsMs;
  const tokens = usage.totalTokens ?? usage.used;
  return (
    <>
      <td data-label="Ended">{turns.length > 0 ? "working" : (lastStop?.replaceAll("_", " ") ?? "")}</td>
      <td className="number" data-label="Time">
        {time > 0 ? duration(time) : ""}
      </td>
      <td className="number" data-label="Tokens">
        {tokens === undefined ? "not told" : tokens.toLocaleString()}
      </td>
      <td className="number" data-label="Cost">
        {usage.cost ? money(usage.cost) : "not told"}
      </td>
    </>
  );
}

function NothingSpent({ candidate }: { candidate: CandidateState }) {
  return (
    <>
      <td data-label="Ended">{candidate.error === undefined ? "" : "not started"}</td>
      <td />
      <td />
      <td />
    </>
  );
}

function ChangeCount({ candidate }: { candidate: CandidateState }) {
  const { changes, measuring, problem } = candidate;
  if (problem !== undefined) return <ErrorBox error={problem} />;
  if (!changes) return <span className="muted">{measuring ? "reading…" : ""}</span>;
  const sum = (field: "added" | "removed") =>
    changes.files.reduce((total, file) => total + (file[field] ?? 0), 0);
  return (
    <>
      {count(changes.files.length, "file")}{" "}
      {changes.files.length > 0 && (
        <>
          <span className="good-text">+{sum("added")}</span>{" "}
          <span className="bad-text">-{sum("removed")}</span>
        </>
      )}
    </>
  );
}

function Test({ result, measuring }: { result: TestResult | undefined; measuring: boolean }) {
  if (measuring) return <span className="muted">running…</span>;
  if (!result) return null;
  const passed = result.exitCode === 0;
  return (
    <details>
      <summary>
        <span className={passed ? "pill good" : "pill bad"}>
          {passed ? "passed" : result.exitCode === undefined ? "timed out" : `failed (${result.exitCode})`}
        </span>{" "}
        <span className="muted">{duration(result.durationMs)}</span>
      </summary>
      <pre className="compare-output" tabIndex={0}>
        {result.output || "(no output)"}
      </pre>
    </details>
  );
}
