/** A change to a file, line by line. */

import { useMemo, useState } from "react";
import { diffLines, type DiffLine } from "./diff";

const SHOWN_LINES = 40;
const SIGNS: Record<DiffLine["kind"], string> = { same: " ", added: "+", removed: "-", skip: "…" };

export function DiffView({ path, before, after }: { path: string; before: string; after: string }) {
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  const [all, setAll] = useState(false);
  const shown = all ? lines : lines.slice(0, SHOWN_LINES);
  const added = lines.filter((line) => line.kind === "added").length;
  const removed = lines.filter((line) => line.kind === "removed").length;
  return (
    <div className="diff">
      <div className="diff-head">
        <code>{path}</code> <span className="good-text">+{added}</span>{" "}
        <span className="bad-text">-{removed}</span>
      </div>
      <pre tabIndex={0} aria-label={`Change of ${path}`}>
        {shown.map((line, index) => (
          <span key={index} className={`diff-line ${line.kind}`}>{`${SIGNS[line.kind]} ${line.text}\n`}</span>
        ))}
      </pre>
      {lines.length > SHOWN_LINES && (
        <button type="button" className="link-button" onClick={() => setAll(!all)}>
          {all ? "Show less" : `Show all ${lines.length} lines`}
        </button>
      )}
    </div>
  );
}
