/** A change to a file, line by line. jsdiff is loaded and run outside of rendering, once per change. */

import type { Diff } from "@agentclientprotocol/sdk";
import { Suspense, use, useState, type ReactNode } from "react";
import type { DiffLine } from "./diffLines";

const SHOWN_LINES = 40;
const SIGNS: Record<DiffLine["kind"], string> = { same: " ", added: "+", removed: "-", skip: "…" };

const computed = new WeakMap<Diff, Promise<DiffLine[]>>();

function linesOf(diff: Diff): Promise<DiffLine[]> {
  const known = computed.get(diff);
  if (known) return known;
  const lines = import("./diffLines").then(({ diffLines }) => diffLines(diff.oldText ?? "", diff.newText));
  computed.set(diff, lines);
  return lines;
}

export function DiffView({ diff }: { diff: Diff }) {
  return (
    <Suspense fallback={<DiffFrame path={diff.path} />}>
      <DiffLines diff={diff} />
    </Suspense>
  );
}

function DiffFrame({ path, counts, children }: { path: string; counts?: ReactNode; children?: ReactNode }) {
  return (
    <div className="diff">
      <div className="diff-head">
        <code>{path}</code> {counts}
      </div>
      {children}
    </div>
  );
}

function DiffLines({ diff }: { diff: Diff }) {
  const lines = use(linesOf(diff));
  const [all, setAll] = useState(false);
  const shown = all ? lines : lines.slice(0, SHOWN_LINES);
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  const counts = (
    <>
      <span className="good-text">+{count("added")}</span>{" "}
      <span className="bad-text">-{count("removed")}</span>
    </>
  );
  return (
    <DiffFrame path={diff.path} counts={counts}>
      <pre tabIndex={0} aria-label={`Change of ${diff.path}`}>
        {shown.map((line, index) => (
          <span key={index} className={`diff-line ${line.kind}`}>{`${SIGNS[line.kind]} ${line.text}\n`}</span>
        ))}
      </pre>
      {lines.length > SHOWN_LINES && (
        <button type="button" className="link-button" onClick={() => setAll(!all)}>
          {all ? "Show less" : `Show all ${lines.length} lines`}
        </button>
      )}
    </DiffFrame>
  );
}
