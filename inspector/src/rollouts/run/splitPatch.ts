/** A diff of git as one patch for each file. */

const FILE = /^diff --git a\/.* b\/(.*)$/;

export function splitPatch(text: string): { path: string; patch: string }[] {
  const files: { path: string; lines: string[] }[] = [];
  for (const line of text.split("\n")) {
    const file = FILE.exec(line);
    if (file) files.push({ path: file[1]!, lines: [] });
    else files.at(-1)?.lines.push(line);
  }
  return files.map(({ path, lines }) => ({ path, patch: lines.join("\n") }));
}
