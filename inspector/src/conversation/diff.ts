/** Line differences of two texts, with a few unchanged lines around each change. */

import { opcodes } from "../universal/sequenceMatcher";

export interface DiffLine {
  kind: "same" | "added" | "removed" | "skip";
  text: string;
}

const CONTEXT_LINES = 3;

export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [linesOf(before), linesOf(after)];
  const lines = opcodes(a, b).flatMap((code): DiffLine[] => {
    const old = a.slice(...code.a);
    if (code.tag === "equal") return old.map((text) => ({ kind: "same", text }));
    const added = b.slice(...code.b).map((text): DiffLine => ({ kind: "added", text }));
    return [...old.map((text): DiffLine => ({ kind: "removed", text })), ...added];
  });
  return withContext(lines);
}

function linesOf(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function withContext(lines: DiffLine[]): DiffLine[] {
  const near = new Set<number>();
  lines.forEach((line, index) => {
    if (line.kind === "same") return;
    for (let at = index - CONTEXT_LINES; at <= index + CONTEXT_LINES; at += 1) near.add(at);
  });
  const kept: DiffLine[] = [];
  let skipped = 0;
  const mark = () => {
    if (skipped > 0) kept.push({ kind: "skip", text: `${skipped} unchanged lines` });
    skipped = 0;
  };
  lines.forEach((line, index) => {
    if (!near.has(index)) {
      skipped += 1;
      return;
    }
    mark();
    kept.push(line);
  });
  mark();
  return kept;
}
