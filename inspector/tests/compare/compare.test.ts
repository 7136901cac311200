/** The comparison of agents: what git prints, and the names of the candidates. */

import { describe, expect, test } from "vitest";
import { candidateName } from "../../src/compare/candidateName";
import { readFileChanges, splitPatch } from "../../src/compare/filePatches";

describe("the output of git", () => {
  test("has added and removed lines per file, none for binary files", () => {
    expect(readFileChanges("3\t1\tsrc/a b.ts\0-\t-\tlogo.png\0")).toEqual([
      { path: "src/a b.ts", added: 3, removed: 1 },
      { path: "logo.png" },
    ]);
    expect(readFileChanges("")).toEqual([]);
  });

  test("is split into the patches of its files, whatever their names", () => {
    const first = "diff --git a/a b/c.txt b/a b/c.txt\n@@ -1 +1 @@\n-diff --git\n+x\n";
    const second = 'diff --git "a/tab\\tname" "b/tab\\tname"\n@@ -0,0 +1 @@\n+y\n';
    expect([...splitPatch(first + second)]).toEqual([
      ["a b/c.txt", first],
      ["tab\tname", second],
    ]);
    expect(splitPatch("").size).toBe(0);
  });
});

test("candidates that are the same are numbered", () => {
  const one = (agent: string, model = "") => ({ agent, model, path: "" });
  const candidates = [one("mock"), one("mock"), one("mock", "fast"), one("claude")];
  expect(candidates.map((_, index) => candidateName(candidates, index))).toEqual([
    "Mock #1",
    "Mock #2",
    "Mock · fast",
    "Claude Code",
  ]);
});
