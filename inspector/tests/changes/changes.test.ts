/** Patches, and the files that have changed. */

import { expect, test } from "vitest";
import type { GitDiff } from "../../src/api/bodies";
import { changedFiles } from "../../src/changes/changesReader";
import { patchLines, sideBySide } from "../../src/changes/patch";

const PATCH = `diff --git a/a.py b/a.py
--- a/a.py
+++ b/a.py
@@ -1,3 +1,4 @@ def total():
 same
--- old
+++ new
+more
 end
\\ No newline at end of file
`;

test("a patch has numbered lines, also where a line looks like a header", () => {
  expect(patchLines(PATCH)).toEqual([
    { kind: "hunk", text: "Line 1: def total():" },
    { kind: "same", text: "same", before: 1, after: 1 },
    { kind: "removed", text: "-- old", before: 2 },
    { kind: "added", text: "++ new", after: 2 },
    { kind: "added", text: "more", after: 3 },
    { kind: "same", text: "end", before: 3, after: 4 },
  ]);
});

test("side by side, removed lines stand beside the added ones that follow", () => {
  const rows = sideBySide(patchLines(PATCH));
  expect(rows.map(({ hunk, left, right }) => hunk?.kind ?? [left?.text, right?.text])).toEqual([
    "hunk",
    ["same", "same"],
    ["-- old", "++ new"],
    [undefined, "more"],
    ["end", "end"],
  ]);
});

test("only files whose diff became another one while it was shown count as changed", () => {
  const diff = (patches: Record<string, string>): GitDiff => ({
    root: "/r",
    base: null,
    truncated: false,
    files: Object.entries(patches).map(([path, patch]) => ({
      path,
      patch,
      status: "modified",
      binary: false,
      submodule: false,
    })),
  });
  const first = { live: true, changedAt: new Map<string, number>() };
  expect(changedFiles(first, diff({ a: "1" }), 5)).toEqual(new Map());
  const shown = { ...first, diff: diff({ a: "1", b: "1" }) };
  expect(changedFiles(shown, diff({ a: "1", b: "2", c: "1" }), 7)).toEqual(
    new Map([
      ["b", 7],
      ["c", 7],
    ]),
  );
});
