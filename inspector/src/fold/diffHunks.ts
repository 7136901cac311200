/** The changes between two texts as hunks of a unified diff with three lines of context. */

import { structuredPatch, type StructuredPatchHunk } from "diff";

const CONTEXT_LINES = 3;
/**
 * Time and memory grow with the square of the number of changed lines: 2,000 take about 0.4 s. A text with
 * more changes is shown as replaced.
 */
const MAX_CHANGED_LINES = 2_000;

export const NO_NEWLINE = "\\ No newline at end of file";

export function diffHunks(before: string, after: string): StructuredPatchHunk[] {
  const options = { context: CONTEXT_LINES, maxEditLength: MAX_CHANGED_LINES };
  const patch = structuredPatch("", "", before, after, undefined, undefined, options);
  return patch ? patch.hunks : [replacement(before, after)];
}

function replacement(before: string, after: string): StructuredPatchHunk {
  const [removed, added] = [splitLines(before), splitLines(after)];
  return {
    oldStart: 1,
    oldLines: removed.length,
    newStart: 1,
    newLines: added.length,
    lines: [...marked("-", before, removed), ...marked("+", after, added)],
  };
}

function splitLines(text: string): string[] {
  return text === "" ? [] : text.replace(/\n$/, "").split("\n");
}

function marked(sign: string, text: string, lines: string[]): string[] {
  const ended = text === "" || text.endsWith("\n");
  return [...lines.map((line) => sign + line), ...(ended ? [] : [NO_NEWLINE])];
}
