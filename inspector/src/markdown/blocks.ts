/**
 * Markdown (CommonMark and GFM, read by marked) as a list of blocks, one row of the conversation each. Text only
 * grows while an agent writes, so finished blocks are kept and only the tail is read again: the cost of a chunk
 * does not depend on the length of the text before it.
 */

import { lexer, type Token, type Tokens } from "marked";

export type Block =
  /** Anything that is drawn as a whole. `start` is the place of its text in the message. */
  | { type: "token"; token: Token; continued: boolean }
  | { type: "item"; item: Tokens.ListItem; marker: string; loose: boolean }
  | { type: "code"; language: string; text: string; continued: boolean; start: number };

export interface BlockList {
  /** Length of the text that was read. */
  length: number;
  /** Blocks that no further text can change. */
  done: Block[];
  /** Position where the text of the unfinished tail begins. */
  tailStart: number;
  /** The code fence that the tail is inside of. */
  fence: Fence | undefined;
  /** The tail goes on with a paragraph that was cut. */
  continued: boolean;
  tail: Block[];
}

interface Fence {
  mark: string;
  indent: number;
  language: string;
  start: number;
  /** Pieces of this block are in `done`. */
  continued: boolean;
}

/** A row that is larger takes too long to lay out in a frame. */
const MAX_PARAGRAPH_CHARS = 4000;
const MAX_CODE_LINES = 80;
/** A longer list is read again item by item. */
const MAX_LIST_CHARS = 8000;

export const NO_BLOCKS: BlockList = {
  length: 0,
  done: [],
  tailStart: 0,
  fence: undefined,
  continued: false,
  tail: [],
};

export function readBlocks(text: string, before: BlockList = NO_BLOCKS): BlockList {
  if (text.length === before.length) return before;
  const start = before.length <= text.length ? before : NO_BLOCKS;
  return new BlockReader(text, start).read();
}

/** The whole text of a code block, however many rows it has; `start` is where its first line begins. */
export function codeText(text: string, start: number): string {
  const [token] = lexer(text.slice(start));
  return token?.type === "code" ? (token as Tokens.Code).text : "";
}

const FENCE = /^( {0,3})(`{3,}|~{3,})[ \t]*([^`\s]*)[^`\n]*$/;

class BlockReader {
  private readonly done: Block[];
  private position: number;
  private fence: Fence | undefined;
  private continued: boolean;

  constructor(
    private readonly text: string,
    before: BlockList,
  ) {
    this.done = before.done.slice();
    this.position = before.tailStart;
    this.fence = before.fence;
    this.continued = before.continued;
  }

  read(): BlockList {
    let tail: Block[] | undefined;
    while (tail === undefined) tail = this.fence ? this.readCode(this.fence) : this.readTokens();
    return {
      length: this.text.length,
      done: this.done,
      tailStart: this.position,
      fence: this.fence,
      continued: this.continued,
      tail,
    };
  }

  /** Read top-level blocks; returns the tail, or undefined if a code block that is not closed begins. */
  private readTokens(): Block[] | undefined {
    const tokens = lexer(this.text.slice(this.position));
    const lastIndex = tokens.findLastIndex((token) => token.type !== "space");
    for (const [index, token] of tokens.entries()) {
      if (index === lastIndex) return this.readLast(token);
      this.keep(this.blocksOf(token, this.position), token.raw.length);
    }
    return [];
  }

  /** The last block may still grow; what cannot change of it is kept. */
  private readLast(token: Token): Block[] | undefined {
    if (token.type === "code" && this.openFence(token.raw)) return undefined;
    if (token.type === "paragraph" && token.raw.length > MAX_PARAGRAPH_CHARS) {
      const end = cutAt(token.raw);
      this.keep(
        lexer(token.raw.slice(0, end)).flatMap((one) => this.blocksOf(one, this.position)),
        end,
      );
      this.continued = true;
      return undefined;
    }
    if (
      token.type === "list" &&
      token.raw.length > MAX_LIST_CHARS &&
      (token as Tokens.List).items.length > 1
    ) {
      const { items } = token as Tokens.List;
      const blocks = this.blocksOf(token, this.position);
      const kept = items.slice(0, -1).reduce((length, item) => length + item.raw.length, 0);
      this.keep(blocks.slice(0, -1), kept);
      return undefined;
    }
    return this.blocksOf(token, this.position);
  }

  private keep(blocks: Block[], length: number): void {
    for (const block of blocks) this.done.push(block);
    this.position += length;
    this.continued = false;
  }

  private openFence(raw: string): boolean {
    const newline = raw.indexOf("\n");
    const opening = FENCE.exec(newline < 0 ? raw : raw.slice(0, newline));
    if (!opening || newline < 0) return false;
    const [, indent, mark, language] = opening;
    this.fence = {
      mark: mark!,
      indent: indent!.length,
      language: language!,
      start: this.position,
      continued: false,
    };
    this.position += newline + 1;
    return true;
  }

  /** Lines of a fenced block, in pieces of 80; returns the tail, or undefined if the block is closed. */
  private readCode(fence: Fence): Block[] | undefined {
    const lines: string[] = [];
    let at = this.position;
    for (;;) {
      const newline = this.text.indexOf("\n", at);
      const line = this.text.slice(at, newline < 0 ? undefined : newline).replace(/\r$/, "");
      if (closes(line, fence.mark)) {
        if (newline < 0) return this.codePiece(fence, lines);
        this.keepCode(fence, lines, newline + 1);
        this.fence = undefined;
        return undefined;
      }
      if (newline < 0)
        return this.codePiece(fence, line === "" ? lines : [...lines, unindented(line, fence)]);
      lines.push(unindented(line, fence));
      at = newline + 1;
      if (lines.length === MAX_CODE_LINES) {
        this.keepCode(fence, lines, at);
        fence = { ...fence, continued: true };
        this.fence = fence;
        lines.length = 0;
      }
    }
  }

  private keepCode(fence: Fence, lines: string[], end: number): void {
    this.keep(this.codePiece(fence, lines), 0);
    this.position = end;
  }

  private codePiece(fence: Fence, lines: string[]): Block[] {
    if (lines.length === 0 && fence.continued) return [];
    const { language, start, continued } = fence;
    return [{ type: "code", language, text: lines.join("\n"), continued, start }];
  }

  private blocksOf(token: Token, start: number): Block[] {
    if (token.type === "space" || token.type === "def") return [];
    if (token.type === "list") return listItems(token as Tokens.List);
    if (token.type === "code") return codePieces(token as Tokens.Code, start);
    return [{ type: "token", token, continued: this.continued }];
  }
}

function listItems(list: Tokens.List): Block[] {
  const first = Number(list.start) || 1;
  return list.items.map((item, index) => ({
    type: "item",
    item,
    marker: list.ordered ? `${first + index}.` : "•",
    loose: list.loose,
  }));
}

function codePieces(code: Tokens.Code, start: number): Block[] {
  const lines = code.text.split("\n");
  const pieces: Block[] = [];
  for (let at = 0; at < lines.length; at += MAX_CODE_LINES) {
    const text = lines.slice(at, at + MAX_CODE_LINES).join("\n");
    pieces.push({ type: "code", language: code.lang?.split(/\s/)[0] ?? "", text, continued: at > 0, start });
  }
  return pieces;
}

/** Where to cut an overlong paragraph: at the end of a line or word, outside of code and emphasis if possible. */
function cutAt(raw: string): number {
  const piece = raw.slice(0, MAX_PARAGRAPH_CHARS);
  // The rest must not begin like a list, a heading or a quote.
  const places = [...piece.matchAll(/[ \n]+(?=[\p{L}\p{N}])/gu)].map(
    (match) => match.index + match[0].length,
  );
  const late = places.filter((place) => place > MAX_PARAGRAPH_CHARS / 2).reverse();
  const balanced = late.find((place) => isBalanced(piece.slice(0, place)));
  return balanced ?? late[0] ?? piece.length;
}

function isBalanced(text: string): boolean {
  return ["`", "*", "_", "~"].every((mark) => (text.split(mark).length - 1) % 2 === 0);
}

function closes(line: string, mark: string): boolean {
  const text = line.trim();
  return text.length >= mark.length && text.startsWith(mark) && text.replaceAll(mark[0]!, "") === "";
}

/** Spaces before an indented fence are not part of its lines. */
function unindented(line: string, fence: Fence): string {
  return fence.indent === 0 ? line : line.replace(new RegExp(`^ {0,${fence.indent}}`), "");
}
