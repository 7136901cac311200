/** Markdown as blocks, read piece by piece. */

import { expect, test } from "vitest";
import { NO_BLOCKS, readBlocks, type Block } from "../src/markdown/blocks";

const SAMPLE = `# Title

A paragraph with **bold**
over two lines.

- one
- two
  more of two
  - nested
1. first

> quoted
> twice

| a | b |
|---|---|
| 1 | 2 |

\`\`\`python
print("hi")

# not a heading
\`\`\`

---
The end`;

function blocks(text: string): Block[] {
  const { done, tail } = readBlocks(text);
  return [...done, ...tail];
}

test("every kind of block is found", () => {
  expect(blocks(SAMPLE)).toEqual([
    { type: "heading", level: 1, text: "Title" },
    { type: "paragraph", text: "A paragraph with **bold**\nover two lines." },
    { type: "item", depth: 0, marker: "-", text: "one" },
    { type: "item", depth: 0, marker: "-", text: "two\nmore of two" },
    { type: "item", depth: 1, marker: "-", text: "nested" },
    { type: "item", depth: 0, marker: "1.", text: "first" },
    { type: "quote", text: "quoted\ntwice" },
    {
      type: "table",
      rows: [
        ["a", "b"],
        ["1", "2"],
      ],
    },
    { type: "code", language: "python", text: 'print("hi")\n\n# not a heading', continued: false },
    { type: "rule" },
    { type: "paragraph", text: "The end" },
  ]);
});

test.each([1, 2, 3, 7, 50])("text in pieces of %i characters gives the same blocks", (size) => {
  let list = NO_BLOCKS;
  for (let end = size; end < SAMPLE.length + size; end += size) list = readBlocks(SAMPLE.slice(0, end), list);
  expect([...list.done, ...list.tail]).toEqual(blocks(SAMPLE));
});

test("finished blocks stay the same objects while text grows", () => {
  const before = readBlocks("one\n\ntwo\n\nthr");
  const after = readBlocks("one\n\ntwo\n\nthree", before);
  expect(after.done[0]).toBe(before.done[0]);
  expect(after.done[1]).toBe(before.done[1]);
});

test("no block grows without bound", () => {
  const long = blocks(`${"word ".repeat(5000)}\n\n\`\`\`\n${"line\n".repeat(500)}\`\`\`\n`);
  expect(Math.max(...long.map((block) => ("text" in block ? block.text.length : 0)))).toBeLessThan(2100);
  const joined = long
    .filter((block) => block.type === "code")
    .map((block) => (block.type === "code" ? block.text : ""));
  expect(joined.join("\n")).toBe("line\n".repeat(500).trimEnd());
});

test("an unclosed fence is code", () => {
  expect(blocks("```js\nlet x")).toEqual([{ type: "code", language: "js", text: "let x", continued: false }]);
});

test("reading a long text chunk by chunk takes linear time", () => {
  let text = "";
  let list = NO_BLOCKS;
  const started = performance.now();
  for (let n = 1; n <= 20_000; n += 1) {
    text += `chunk ${n}\n`;
    if (n % 10 === 0) list = readBlocks(text, list);
  }
  expect(performance.now() - started).toBeLessThan(5000);
  expect(list.done.length).toBeGreaterThan(50);
});
