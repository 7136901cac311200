/** A change to a file, line by line. jsdiff is loaded and run outside of rendering, once per change. */

import type { Diff } from "@agentclientprotocol/sdk";
import { lazy, Suspense, use, useState, type ReactNode } from "react";
import type { FilePatch } from "../../fold/chat/conversation";
import { CopyButton } from "../../ui/CopyButton";
import { Highlighted } from "../../markdown/Highlighted";
import { languageOf } from "../../markdown/languages";
import type { DiffLine } from "./diffLines";
import { PathLink } from "../rows/PathLink";

/** Only agents that speak ACP v2 send patches. */
const PatchView = lazy(() =>
  import("../../changes/PatchView").then((module) => ({ default: module.PatchView })),
);

const SHOWN_LINES = 40;
/** More lines are added in steps of this, so that a large change does not block the page. */
const MORE_LINES = 400;
const SIGNS: Record<DiffLine["kind"], string> = { same: " ", added: "+", removed: "-", skip: "…" };

type Change = Pick<Diff, "path" | "oldText" | "newText">;
const computed = new WeakMap<Change, Promise<DiffLine[]>>();

function linesOf(diff: Change): Promise<DiffLine[]> {
  const known = computed.get(diff);
  if (known) return known;
  const lines = import("./diffLines").then(({ diffLines }) => diffLines(diff.oldText ?? "", diff.newText));
  computed.set(diff, lines);
  return lines;
}

export function DiffView({ diff }: { diff: Change | FilePatch }) {
  if ("patch" in diff)
    return (
      <DiffFrame path={diff.path} copied={diff.patch} label="Copy the patch">
        <Suspense>
          <PatchView path={diff.path} patch={diff.patch} columns="unified" />
        </Suspense>
      </DiffFrame>
    );
  return (
    <Suspense fallback={<DiffFrame path={diff.path} copied={diff.newText} />}>
      <DiffLines diff={diff} />
    </Suspense>
  );
}

interface FrameProps {
  path: string;
  copied: string;
  label?: string;
  counts?: ReactNode;
  children?: ReactNode;
}

function DiffFrame({ path, copied, label = "Copy the new text", counts, children }: FrameProps) {
  return (
    <div className="diff">
      <div className="diff-head">
        <PathLink path={path} /> {counts} <span className="grow" />
        <CopyButton text={copied} label={label} />
      </div>
      {children}
    </div>
  );
}

function DiffLines({ diff }: { diff: Change }) {
  const lines = use(linesOf(diff));
  const [limit, setLimit] = useState(SHOWN_LINES);
  const shown = lines.slice(0, limit);
  const count = (kind: DiffLine["kind"]) => lines.filter((line) => line.kind === kind).length;
  const language = languageOf(diff.path);
  const counts = (
    <>
      <span className="good-text">+{count("added")}</span>{" "}
      <span className="bad-text">-{count("removed")}</span>
    </>
  );
  const rest = lines.length - limit;
  return (
    <DiffFrame path={diff.path} copied={diff.newText} counts={counts}>
      <pre tabIndex={0} aria-label={`Change of ${diff.path}`}>
        {shown.map((line, index) => (
          <span key={index} className={`diff-line ${line.kind}`}>
            <span className="diff-number" aria-hidden="true">
              {line.before ?? ""}
            </span>
            <span className="diff-number" aria-hidden="true">
              {line.after ?? ""}
            </span>
            {`${SIGNS[line.kind]} `}
            <LineText line={line} language={language} />
            {"\n"}
          </span>
        ))}
      </pre>
      {(rest > 0 || limit > SHOWN_LINES) && (
        <div className="diff-more">
          {rest > 0 && (
            <button type="button" className="link-button" onClick={() => setLimit(limit + MORE_LINES)}>
              {rest > MORE_LINES
                ? `Show ${MORE_LINES} more of ${rest} lines`
                : `Show all ${lines.length} lines`}
            </button>
          )}
          {limit > SHOWN_LINES && (
            <button type="button" className="link-button" onClick={() => setLimit(SHOWN_LINES)}>
              Show less
            </button>
          )}
        </div>
      )}
    </DiffFrame>
  );
}

function LineText({ line, language }: { line: DiffLine; language: string }) {
  if (line.parts)
    return line.parts.map((part, index) => (part.changed ? <mark key={index}>{part.text}</mark> : part.text));
  return line.kind === "skip" ? line.text : <Highlighted text={line.text} language={language} />;
}
