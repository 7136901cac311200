/** The changes of two candidates, file by file, beside each other. */

import { useState } from "react";
import { PatchView } from "../changes/PatchView";
import { useObservable } from "../state/observable";
import { candidateName } from "./candidateName";
import type { CandidateState, Comparison } from "./comparison";

export function DiffAgainstDiff({ comparison }: { comparison: Comparison }) {
  const { candidates } = useObservable(comparison.state);
  const [chosen, setChosen] = useState<[number, number]>([0, Math.min(1, candidates.length - 1)]);
  const sides = chosen.map((index) => candidates[index]!);
  const paths = [
    ...new Set(sides.flatMap((one) => one.changes?.files.map((file) => file.path) ?? [])),
  ].sort();
  if (paths.length === 0) return null;
  const choose = (side: number, index: number) =>
    setChosen(([left, right]) => (side === 0 ? [index, right] : [left, index]));
  return (
    <section className="compare-diffs" aria-label="Diff against diff">
      <div className="compare-pair">
        {sides.map((_, side) => (
          <label key={side}>
            <span className="visually-hidden">{side === 0 ? "Left" : "Right"}</span>
            <select value={chosen[side]} onChange={(event) => choose(side, Number(event.target.value))}>
              {candidates.map((one, index) => (
                <option key={one.path} value={index}>
                  {candidateName(candidates, index)}
                </option>
              ))}
            </select>
          </label>
        ))}
      </div>
      {paths.map((path) => (
        <FilePair key={path} path={path} sides={sides} />
      ))}
      {sides.some((one) => one.changes?.truncated) && (
        <p className="muted compare-note">
          A diff is longer than the server sends; the last files are not shown.
        </p>
      )}
    </section>
  );
}

function FilePair({ path, sides }: { path: string; sides: CandidateState[] }) {
  const patches = sides.map((one) => one.changes?.patches.get(path));
  const same = patches[0] !== undefined && patches[0] === patches[1];
  return (
    <details className="file-change" data-path={path} open>
      <summary>
        <code className="grow">{path}</code>
        {same && <span className="pill">the same change</span>}
      </summary>
      <div className="compare-pair">
        {sides.map((one, side) => (
          <div key={side} className="compare-side">
            <Side candidate={one} path={path} patch={patches[side]} />
          </div>
        ))}
      </div>
    </details>
  );
}

function Side({ candidate, path, patch }: { candidate: CandidateState; path: string; patch?: string }) {
  if (patch?.includes("\n@@")) return <PatchView path={path} patch={patch} columns="unified" />;
  const changed = candidate.changes?.files.some((file) => file.path === path);
  return <p className="muted compare-note">{changed ? "Changed, without lines to show." : "Not changed."}</p>;
}
