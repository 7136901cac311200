/** The form of an MCP server. */

import { expect, test } from "vitest";
import { nonBlankPairs, pairsFrom, wordsFrom } from "../../src/panels/mcp/formFields";
import { entryOf, fieldsOf } from "../../src/panels/mcp/mcpEntry";

test("form fields are read as words and pairs", () => {
  expect(wordsFrom(`npx -y "a b" 'c d'`)).toEqual(["npx", "-y", "a b", "c d"]);
  expect(pairsFrom("A=b=c\n\nexport X=\n", "=")).toEqual([
    { name: "A", value: "b=c" },
    { name: "X", value: "" },
  ]);
  expect(pairsFrom("BAD LINE", "=")).toBeUndefined();
  expect(pairsFrom("A=1\nTWO WORDS=x", "=")).toBeUndefined();
  expect(nonBlankPairs([{ name: " ", value: "" }], "a variable")).toBeUndefined();
  expect(() => nonBlankPairs([{ name: "TWO WORDS", value: "x" }], "a variable")).toThrow("TWO WORDS");
  expect(() => nonBlankPairs([{ name: "", value: "x" }], "a variable")).toThrow("a variable");
});

// clauses: inspector-35
test("editing an MCP server keeps what the form does not show", () => {
  const local = {
    type: "local" as const,
    command: ["run", "a b"],
    args: ["c"],
    cwd: "sub",
    timeoutMs: 5,
    env: { K: "v" },
  };
  expect(entryOf(fieldsOf("x", local), local)).toEqual({ ...local, command: "run", args: ["a b", "c"] });
  const remote = { type: "remote" as const, url: "https://h/", enabled: false, bearerTokenEnvVar: "T" };
  const edited = { ...fieldsOf("x", remote), headers: [{ name: "X-Key", value: "k" }] };
  expect(entryOf(edited, remote)).toEqual({ ...remote, transport: "http", headers: { "X-Key": "k" } });
});
