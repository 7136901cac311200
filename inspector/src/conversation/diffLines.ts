/** The lines of a diff as the page shows them: changes with three lines of context, the rest counted. */

import { diffHunks, NO_NEWLINE } from "../fold/diffHunks";

export interface DiffLine {
  kind: "same" | "added" | "removed" | "skip";
  text: string;
}

const KINDS: Record<string, DiffLine["kind"]> = { " ": "same", "+": "added", "-": "removed" };

export function diffLines(before: string, after: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let shown = 0;
  const skipTo = (line: number) => {
    if (line > shown) lines.push({ kind: "skip", text: `${line - shown} unchanged lines` });
  };
  for (const hunk of diffHunks(before, after)) {
    skipTo(hunk.oldStart - 1);
    for (const line of hunk.lines) {
      if (line !== NO_NEWLINE) lines.push({ kind: KINDS[line[0]!] ?? "same", text: line.slice(1) });
    }
    shown = hunk.oldStart - 1 + hunk.oldLines;
  }
  skipTo(before === "" ? 0 : before.replace(/\n$/, "").split("\n").length);
  return lines;
}
