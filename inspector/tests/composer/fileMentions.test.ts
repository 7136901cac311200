/** `@path` in the composer. */

import { expect, test } from "vitest";
import type { FsEntry } from "../../src/api/bodies";
import { matchingFiles, mentionAt } from "../../src/composer/fileMentions";

function entry(name: string, entryType: "file" | "directory" = "file"): FsEntry {
  return { name, path: `/w/${name}`, entryType, size: 1, modified: "" } as FsEntry;
}

// clauses: inspector-26
test("a mention is the @path before the cursor", () => {
  expect(mentionAt("look at @src/ma", 15)).toEqual({ start: 8, folder: "src", prefix: "ma" });
  expect(mentionAt("@", 1)).toEqual({ start: 0, folder: "", prefix: "" });
  expect(mentionAt("mail a@b", 8)).toBeUndefined();
  expect(mentionAt("@done now", 9)).toBeUndefined();
});

test("files that begin with the text come first, hidden ones only when asked for", () => {
  const entries = [entry("domain.py"), entry("main.py"), entry(".mailmap"), entry("maps", "directory")];
  const found = matchingFiles(entries, { start: 0, folder: "", prefix: "ma" });
  expect(found.map((one) => one.insert)).toEqual(["@main.py ", "@maps/", "@domain.py "]);
  expect(found[0]!.file?.path).toBe("/w/main.py");
  expect(matchingFiles(entries, { start: 0, folder: "", prefix: ".m" })).toHaveLength(1);
});
