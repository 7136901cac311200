/** What the panels about the sandbox compute: lines of a patch, changed files, rates of use. */

import { expect, test } from "vitest";
import type { GitDiff, SystemInfo } from "../src/api/bodies";
import { changedFiles } from "../src/changes/changesReader";
import { patchLines, sideBySide } from "../src/changes/patch";
import { usageOf } from "../src/system/usage";
import { endText } from "../src/terminals/endText";

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

test("CPU is the rate between two answers, and unknown for a tree that was started again", () => {
  const info = (timeMs: number, seconds: number, pid: number): SystemInfo => ({
    timeMs,
    cpu: { limit: 2, busySeconds: seconds, loadAverage: [0, 0, 0] },
    memory: { totalBytes: 100, availableBytes: 40 },
    disk: { totalBytes: 10, availableBytes: 10 },
    server: { pid: 1, memoryBytes: 5, cpuSeconds: seconds / 4 },
    instances: [{ serverId: "s", agent: "mock", pid, processes: 1, memoryBytes: 7, cpuSeconds: seconds / 2 }],
    processes: [
      { processId: "proc_1", command: "make", pid: 3, processes: 2, memoryBytes: 9, cpuSeconds: seconds },
    ],
  });
  const usage = usageOf(info(3000, 12, 9), info(1000, 10, 9));
  expect([usage.cpu, usage.memoryUsed, usage.diskUsed]).toEqual([1, 60, 0]);
  expect(usage.trees.map((tree) => tree.cpu)).toEqual([0.25, 0.5, 1]);
  expect(usage.trees[2]).toMatchObject({ id: "proc_1", name: "make", processes: 2, memory: 9 });
  expect(usageOf(info(3000, 12, 8), info(1000, 10, 9)).trees[1]?.cpu).toBeUndefined();
  expect(usageOf(info(1000, 10, 9), undefined).cpu).toBeUndefined();
});

test("the end of a process is told by its signal or its code", () => {
  expect(endText({ signal: "SIGTERM" })).toBe("ended by SIGTERM");
  expect(endText({ exitCode: 0 })).toBe("ended with code 0");
  expect(endText({ exitCode: null })).toBe("ended");
});
