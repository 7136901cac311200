/** The output of `git diff`: lines per file, and the patch of each file. */

export interface FileChange {
  path: string;
  /** Absent for a binary file. */
  added?: number;
  removed?: number;
}

/** `--numstat -z`: added, removed and path of each file, ended by NUL. */
export function readFileChanges(output: string): FileChange[] {
  return output
    .split("\0")
    .filter((line) => line !== "")
    .map((line) => {
      const [added, removed, ...path] = line.split("\t");
      const change: FileChange = { path: path.join("\t") };
      return added === "-" ? change : { ...change, added: Number(added), removed: Number(removed) };
    });
}

/** The patches of a diff without renames, by path. */
export function splitPatch(output: string): Map<string, string> {
  const patches = new Map<string, string>();
  for (const part of output.split(/^(?=diff --git )/m)) {
    const path = pathOf(part);
    if (path !== undefined) patches.set(path, part);
  }
  return patches;
}

/** Without renames both names are the same: `diff --git a/NAME b/NAME`. */
function pathOf(patch: string): string | undefined {
  const head = /^diff --git (.*)$/m.exec(patch)?.[1];
  if (head === undefined) return undefined;
  if (head.startsWith('"')) return unquoted(head.slice(0, head.indexOf('" "') + 1)).slice(2);
  return head.slice(2, (head.length - 1) / 2);
}

/** Git quotes names with quotes, tabs and line breaks like C does. */
function unquoted(text: string): string {
  const escapes: Record<string, string> = { n: "\n", t: "\t", '"': '"', "\\": "\\" };
  return text.slice(1, -1).replace(/\\([nt"\\])/g, (_, letter: string) => escapes[letter] ?? letter);
}
