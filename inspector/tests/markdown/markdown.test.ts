/**
 * Markdown: blocks read piece by piece, and what is drawn of them.
 * @vitest-environment happy-dom
 */

import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { codeText, NO_BLOCKS, readBlocks, type Block } from "../../src/markdown/blocks";
import { MarkdownBlock } from "../../src/markdown/MarkdownBlock";
import { verbatimPieces } from "../../src/markdown/verbatim";

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

function html(text: string): string {
  return blocks(text)
    .map((block) => renderToStaticMarkup(createElement(MarkdownBlock, { block, message: () => text })))
    .join("");
}

/** What is drawn, without attributes. */
function drawn(text: string): string {
  return html(text).replace(/<(\w+)[^>]*>/g, "<$1>");
}

// clauses: inspector-19
test("every kind of block is found", () => {
  const kinds = blocks(SAMPLE).map((block) => (block.type === "token" ? block.token.type : block.type));
  expect(kinds).toEqual([
    "heading",
    "paragraph",
    "item",
    "item",
    "item",
    "blockquote",
    "table",
    "code",
    "hr",
    "paragraph",
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

// clauses: inspector-04
test("a long block has several rows, and its whole text is copied", () => {
  const lines = Array.from({ length: 500 }, (_, number) => `line_${number}`).join("\n");
  const text = `before\n\n\`\`\`js\n${lines}\n\`\`\`\n\nafter`;
  const pieces = blocks(text).filter((block) => block.type === "code");
  expect(pieces.length).toBeGreaterThan(3);
  expect(pieces.map((piece) => piece.text).join("\n")).toBe(lines);
  expect(codeText(text, pieces[0]!.start)).toBe(lines);
});

// clauses: inspector-19
test("no paragraph grows without bound, and no word of it is lost", () => {
  const words = Array.from({ length: 5000 }, (_, number) => `word${number}`).join(" ");
  const long = blocks(words);
  expect(long.length).toBeGreaterThan(5);
  const raw = long.map((block) => (block.type === "token" ? block.token.raw : ""));
  expect(Math.max(...raw.map((one) => one.length))).toBeLessThan(4100);
  expect(raw.join("").replace(/\s+/g, " ")).toBe(words);
});

test("an unclosed fence is code", () => {
  expect(blocks("```js\nlet x")).toEqual([
    { type: "code", language: "js", text: "let x", continued: false, start: 0 },
  ]);
});

test("reading a long text chunk by chunk takes linear time", () => {
  let text = "";
  let list = NO_BLOCKS;
  const started = performance.now();
  for (let n = 1; n <= 20_000; n += 1) {
    text += `chunk ${n}\n`;
    if (n % 10 === 0) list = readBlocks(text, list);
  }
  expect(performance.now() - started).toBeLessThan(15_000);
  expect(list.done.length).toBeGreaterThan(20);
});

// clauses: inspector-19
test.each([
  [
    "emphasis of both kinds",
    "***both*** and 2*3*4",
    "<p><em><strong>both</strong></em> and 2<em>3</em>4</p>",
  ],
  ["escapes and entities", "\\* and &amp; and &copy;", "<p>* and &amp; and ©</p>"],
  ["a link with parentheses", "[a](https://b.example/c_(d))", "<p><a>a</a></p>"],
  ["strike", "~~gone~~", "<p><del>gone</del></p>"],
  ["a setext heading", "Title\n=====", "<p>Title</p>"],
  ["soft and hard breaks", "a\nb  \nc", "<p>a\nb<br>c</p>"],
  ["nested quotes", "> a\n>> b", "<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>"],
  [
    "indented code",
    "    x = 1",
    "<div><div><span>text</span><button><svg><path></path></svg></button></div><pre><code>x = 1</code></pre></div>",
  ],
])("%s", (_, text, expected) => {
  expect(drawn(text).replaceAll("<br/>", "<br>")).toBe(expected);
});

test("a link keeps its whole address, and a dangerous one is no link", () => {
  expect(html("[a](https://b.example/c_(d))")).toContain('href="https://b.example/c_(d)"');
  expect(html("[a](javascript:alert(1))")).not.toContain("href");
  expect(html("<img src=x onerror=alert(1)>")).toContain("&lt;img");
  expect(html("&#106;avascript: [a](&#106;avascript:alert(1))")).not.toContain("href");
});

// clauses: inspector-19
test("a table reads bars in code, and aligns its columns", () => {
  const table = html("| a | b |\n|:--|--:|\n| `x\\|y` | 2 |");
  expect(table).toContain("<code>x|y</code>");
  expect(table).toContain('data-align="right"');
});

// clauses: inspector-19
test("a list keeps its tasks, paragraphs and code", () => {
  expect(html("- [x] done\n- [ ] open").match(/type="checkbox"/g)).toHaveLength(2);
  const nested = drawn("1. first\n\n   second paragraph\n\n   ```\n   code\n   ```\n2. next");
  expect(nested).toMatch(/first.*second paragraph.*<code>code<\/code>.*2\..*next/s);
});

// clauses: inspector-20
test("text of the user is kept as it was typed", () => {
  expect(verbatimPieces("a*b*c\n\n    x = `1`")).toEqual([
    { type: "verbatim", text: "a*b*c\n\n    x = `1`" },
  ]);
  const lines = Array.from({ length: 2000 }, (_, number) => `  line ${number}`).join("\n");
  const pieces = verbatimPieces(lines).map((piece) => piece.text);
  expect(pieces.length).toBeGreaterThan(3);
  expect(pieces.join("\n")).toBe(lines);
  expect(
    verbatimPieces("x".repeat(9000))
      .map((piece) => piece.text)
      .join(""),
  ).toBe("x".repeat(9000));
});
