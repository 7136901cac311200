/** A unified diff of git, as numbered lines and as the two columns of a comparison side by side. */

export interface PatchLine {
  kind: "same" | "added" | "removed" | "hunk";
  text: string;
  before?: number;
  after?: number;
}

export interface PatchRow {
  /** The line of a hunk that spans both columns. */
  hunk?: PatchLine;
  left?: PatchLine;
  right?: PatchLine;
}

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/;

/** Nothing before the first hunk is shown: paths and modes are in the head of the file. */
export function patchLines(patch: string): PatchLine[] {
  const lines: PatchLine[] = [];
  let [before, after] = [0, 0];
  let inHunk = false;
  for (const line of patch.replace(/\n$/, "").split("\n")) {
    const hunk = HUNK.exec(line);
    if (hunk) {
      [before, after] = [Number(hunk[1]), Number(hunk[2])];
      inHunk = true;
      lines.push({ kind: "hunk", text: `Line ${after}${hunk[3]!.trim() ? `: ${hunk[3]!.trim()}` : ""}` });
    } else if (inHunk && line.startsWith("+")) {
      lines.push({ kind: "added", text: line.slice(1), after: after++ });
    } else if (inHunk && line.startsWith("-")) {
      lines.push({ kind: "removed", text: line.slice(1), before: before++ });
    } else if (inHunk && !line.startsWith("\\")) {
      lines.push({ kind: "same", text: line.slice(1), before: before++, after: after++ });
    }
  }
  return lines;
}

/** Removed lines stand beside the added lines that follow them. */
export function sideBySide(lines: readonly PatchLine[]): PatchRow[] {
  const rows: PatchRow[] = [];
  let waiting: PatchRow[] = [];
  for (const line of lines) {
    if (line.kind === "removed") {
      const row = { left: line };
      rows.push(row);
      waiting.push(row);
    } else if (line.kind === "added") {
      const beside = waiting.shift();
      if (beside) beside.right = line;
      else rows.push({ right: line });
    } else {
      waiting = [];
      rows.push(line.kind === "hunk" ? { hunk: line } : { left: line, right: line });
    }
  }
  return rows;
}
