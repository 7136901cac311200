/** The changed lines of one file, unified or side by side. */

import { useMemo, useState } from "react";
import { Highlighted } from "../markdown/Highlighted";
import { languageOf } from "../markdown/languages";
import { patchLines, sideBySide, type PatchLine } from "./patch";
import "../styles/workbench.css";

const SHOWN_LINES = 200;
const SIGNS: Record<PatchLine["kind"], string> = { same: " ", added: "+", removed: "-", hunk: "" };

interface Props {
  path: string;
  patch: string;
  columns: "unified" | "split";
}

export function PatchView({ path, patch, columns }: Props) {
  const [limit, setLimit] = useState(SHOWN_LINES);
  const language = languageOf(path);
  const lines = useMemo(() => patchLines(patch), [patch]);
  const shown = useMemo(() => lines.slice(0, limit), [lines, limit]);
  return (
    <>
      <div className="patch" tabIndex={0} role="group" aria-label={`Change of ${path}`}>
        {columns === "unified" ? (
          <Unified lines={shown} language={language} />
        ) : (
          <Split lines={shown} language={language} />
        )}
      </div>
      {lines.length > limit && (
        <button type="button" className="link-button" onClick={() => setLimit(limit * 4)}>
          Show more of {lines.length} lines
        </button>
      )}
    </>
  );
}

interface LinesProps {
  lines: readonly PatchLine[];
  language: string;
}

function Unified({ lines, language }: LinesProps) {
  return (
    <table className="patch-table">
      <tbody>
        {lines.map((line, index) =>
          line.kind === "hunk" ? (
            <HunkRow key={index} line={line} span={3} />
          ) : (
            <tr key={index} className={line.kind}>
              <td className="patch-number">{line.before}</td>
              <td className="patch-number">{line.after}</td>
              <PatchCell line={line} language={language} />
            </tr>
          ),
        )}
      </tbody>
    </table>
  );
}

function Split({ lines, language }: LinesProps) {
  const rows = useMemo(() => sideBySide(lines), [lines]);
  return (
    <table className="patch-table split">
      {/* The first row spans all columns, so a fixed layout needs the widths from here. */}
      <colgroup>
        <col className="patch-number-column" />
        <col />
        <col className="patch-number-column" />
        <col />
      </colgroup>
      <tbody>
        {rows.map(({ hunk, left, right }, index) =>
          hunk ? (
            <HunkRow key={index} line={hunk} span={4} />
          ) : (
            <tr key={index}>
              <td className={`patch-number ${left?.kind ?? "none"}`}>{left?.before}</td>
              <PatchCell line={left} language={language} />
              <td className={`patch-number ${right?.kind ?? "none"}`}>{right?.after}</td>
              <PatchCell line={right} language={language} />
            </tr>
          ),
        )}
      </tbody>
    </table>
  );
}

function HunkRow({ line, span }: { line: PatchLine; span: number }) {
  return (
    <tr className="hunk">
      <td colSpan={span}>{line.text}</td>
    </tr>
  );
}

function PatchCell({ line, language }: { line: PatchLine | undefined; language: string }) {
  if (!line) return <td className="none" />;
  return (
    <td className={`patch-text ${line.kind}`}>
      <span className="patch-sign">{SIGNS[line.kind]}</span>
      <Highlighted text={line.text} language={language} />
    </td>
  );
}
