/** The lines of a diff as the page shows them: numbered, changed words marked, long unchanged parts counted. */

import { diffWordsWithSpace } from "diff";
import { count } from "../../ui/format";
import { diffHunks, NO_NEWLINE } from "../../fold/diffHunks";

export interface DiffLine {
  kind: "same" | "added" | "removed" | "skip";
  text: string;
  /** Number of the line in the old and in the new text. */
  before?: number;
  after?: number;
  /** The line in parts, if only some of its words differ from the line it replaces. */
  parts?: { text: string; changed: boolean }[];
}

const KINDS: Record<string, DiffLine["kind"]> = { " ": "same", "+": "added", "-": "removed" };
/** Longer lines are not compared word by word. */
const MAX_WORD_CHARS = 1000;

export function diffLines(before: string, after: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let shown = 0;
  const skipTo = (line: number) => {
    if (line > shown) lines.push({ kind: "skip", text: count(line - shown, "unchanged line") });
  };
  for (const hunk of diffHunks(before, after)) {
    skipTo(hunk.oldStart - 1);
    let [old, now] = [hunk.oldStart, hunk.newStart];
    const added: DiffLine[] = [];
    for (const line of hunk.lines) {
      if (line === NO_NEWLINE) continue;
      const kind = KINDS[line[0]!] ?? "same";
      added.push({
        kind,
        text: line.slice(1),
        ...(kind === "added" ? {} : { before: old++ }),
        ...(kind === "removed" ? {} : { after: now++ }),
      });
    }
    markWords(added);
    lines.push(...added);
    shown = hunk.oldStart - 1 + hunk.oldLines;
  }
  skipTo(before === "" ? 0 : before.replace(/\n$/, "").split("\n").length);
  return lines;
}

/** Compare removed lines with the added ones that directly follow, pair by pair. */
function markWords(lines: DiffLine[]): void {
  let at = 0;
  while (at < lines.length) {
    const removed = run(lines, at, "removed");
    const added = run(lines, at + removed, "added");
    if (removed > 0 && removed === added) {
      for (let pair = 0; pair < removed; pair += 1) compare(lines[at + pair]!, lines[at + removed + pair]!);
    }
    at += Math.max(1, removed + added);
  }
}

function run(lines: DiffLine[], start: number, kind: DiffLine["kind"]): number {
  let end = start;
  while (lines[end]?.kind === kind) end += 1;
  return end - start;
}

function compare(removed: DiffLine, added: DiffLine): void {
  if (removed.text.length > MAX_WORD_CHARS || added.text.length > MAX_WORD_CHARS) return;
  const changes = diffWordsWithSpace(removed.text, added.text);
  const common = changes
    .filter((one) => !one.added && !one.removed)
    .reduce((sum, one) => sum + one.value.length, 0);
  // Lines with little in common are easier to read as a whole.
  if (common < Math.max(removed.text.length, added.text.length) / 3) return;
  removed.parts = changes
    .filter((one) => !one.added)
    .map((one) => ({ text: one.value, changed: one.removed }));
  added.parts = changes.filter((one) => !one.removed).map((one) => ({ text: one.value, changed: one.added }));
}
