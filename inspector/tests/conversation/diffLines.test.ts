/** The lines of a diff. */

import { expect, test } from "vitest";
import { diffLines } from "../../src/conversation/tools/diffLines";

test("a diff shows changes with their surroundings", () => {
  const before = Array.from({ length: 20 }, (_, n) => `line ${n}`).join("\n");
  const lines = diffLines(before, before.replace("line 10", "changed"));
  expect(lines.filter((line) => line.kind === "removed")).toEqual([
    { kind: "removed", text: "line 10", before: 11 },
  ]);
  expect(lines.filter((line) => line.kind === "added")).toEqual([
    { kind: "added", text: "changed", after: 11 },
  ]);
  expect(lines.filter((line) => line.kind === "skip")).toHaveLength(2);
});

// clauses: inspector-21
test("a diff marks the words that changed in a line", () => {
  const lines = diffLines("const width = 10;\n", "const width = 12;\n");
  expect(lines.map((line) => line.parts?.filter((part) => part.changed).map((part) => part.text))).toEqual([
    ["10"],
    ["12"],
  ]);
});
