/**
 * Markdown text as a flat list of small blocks, one row of the conversation each. Text only grows while an
 * agent writes, so finished blocks are kept and only the tail is read again: the cost of a chunk does not
 * depend on the length of the text before it.
 */

export type Block =
  | { type: "paragraph"; text: string }
  | { type: "heading"; level: number; text: string }
  | { type: "code"; language: string; text: string; continued: boolean }
  | { type: "item"; depth: number; marker: string; text: string }
  | { type: "quote"; text: string }
  | { type: "table"; rows: string[][] }
  | { type: "rule" };

export interface BlockList {
  /** Length of the text that was read. */
  length: number;
  /** Blocks that no further text can change. */
  done: Block[];
  /** Position where the text of the unfinished tail begins. */
  tailStart: number;
  /** The code fence that the tail is inside of. */
  fence: Fence | undefined;
  tail: Block[];
}

interface Fence {
  mark: string;
  language: string;
  continued: boolean;
}

/** Longer runs are cut, so that no row becomes too large to lay out in a frame. */
const MAX_PARAGRAPH_CHARS = 2000;
/** A paragraph of many lines is cut at the end of a line, where the cut is not visible. */
const MAX_LINES_CHARS = 800;
const MAX_CODE_LINES = 40;

export const NO_BLOCKS: BlockList = { length: 0, done: [], tailStart: 0, fence: undefined, tail: [] };

export function readBlocks(text: string, before: BlockList = NO_BLOCKS): BlockList {
  if (text.length === before.length) return before;
  const start = before.length <= text.length ? before : NO_BLOCKS;
  const reader = new Reader(text, start);
  return reader.read();
}

const FENCE = /^\s{0,8}(`{3,}|~{3,})\s*([^`\s]*)[^`]*$/;
const HEADING = /^(#{1,6})\s+(.*?)\s*#*$/;
const RULE = /^\s{0,3}([-*_])(\s*\1){2,}\s*$/;
const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
const QUOTE = /^\s{0,3}>\s?(.*)$/;
const TABLE = /^\s*\|.*\|\s*$/;

class Reader {
  private readonly done: Block[];
  private position: number;
  private fence: Fence | undefined;

  constructor(
    private readonly text: string,
    before: BlockList,
  ) {
    this.done = before.done.slice();
    this.position = before.tailStart;
    this.fence = before.fence;
  }

  read(): BlockList {
    for (;;) {
      const block = this.fence ? this.code(this.fence) : this.next();
      if (!block.finished) {
        return {
          length: this.text.length,
          done: this.done,
          tailStart: this.position,
          fence: this.fence,
          tail: [...(block.block ? [block.block] : []), ...(block.rest ? readBlocks(block.rest).tail : [])],
        };
      }
      if (block.block) this.done.push(block.block);
      this.position = block.end;
      this.fence = block.fence;
    }
  }

  /** A line and where the next one begins; `complete` if its newline has arrived. */
  private line(at: number): Line {
    const newline = this.text.indexOf("\n", at);
    if (newline < 0) return { text: this.text.slice(at), end: this.text.length, complete: false };
    return { text: this.text.slice(at, newline).replace(/\r$/, ""), end: newline + 1, complete: true };
  }

  private next(): Step {
    const first = this.line(this.position);
    if (first.text.trim() === "") {
      return first.complete ? { finished: true, end: first.end } : { finished: false, end: 0 };
    }
    const fence = FENCE.exec(first.text);
    if (fence) {
      if (!first.complete) return { finished: false, end: 0 };
      return {
        finished: true,
        end: first.end,
        fence: { mark: fence[1]!, language: fence[2]!, continued: false },
      };
    }
    const single = singleLine(first.text);
    if (single) return { finished: first.complete, end: first.end, block: single };
    if (TABLE.test(first.text)) return this.run(TABLE, table);
    if (QUOTE.test(first.text)) return this.run(QUOTE, quote);
    return this.paragraph(ITEM.exec(first.text));
  }

  /** Consecutive lines that match one pattern. */
  private run(pattern: RegExp, make: (lines: string[]) => Block): Step {
    const lines: string[] = [];
    let at = this.position;
    for (;;) {
      const line = this.line(at);
      if (!pattern.test(line.text)) return this.endedBy(line, at, make(lines));
      lines.push(line.text);
      at = line.end;
      if (!line.complete) return { finished: false, end: 0, block: make(lines) };
    }
  }

  private paragraph(item: RegExpExecArray | null): Step {
    const lines: string[] = item ? [item[3]!] : [];
    const first = this.line(this.position);
    let at = item ? first.end : this.position;
    let open = item ? !first.complete : false;
    while (!open) {
      const line = this.line(at);
      if (lines.length > 0 && this.endsParagraph(line.text))
        return this.endedBy(line, at, paragraph(lines, item));
      lines.push(line.text);
      at = line.end;
      open = !line.complete;
      if (
        line.complete &&
        at - this.position > MAX_LINES_CHARS &&
        at - this.position <= MAX_PARAGRAPH_CHARS
      ) {
        return { finished: true, end: at, block: paragraph(lines, item) };
      }
      if (at - this.position > MAX_PARAGRAPH_CHARS) return this.cut(item);
    }
    return { finished: false, end: 0, block: paragraph(lines, item) };
  }

  /** A block ends before a line only once that line is complete: an incomplete line may still become another kind. */
  private endedBy(line: Line, at: number, block: Block): Step {
    return line.complete
      ? { finished: true, end: at, block }
      : { finished: false, end: at, block, rest: line.text };
  }

  private endsParagraph(line: string): boolean {
    return (
      line.trim() === "" ||
      FENCE.test(line) ||
      ITEM.test(line) ||
      QUOTE.test(line) ||
      singleLine(line) !== undefined
    );
  }

  /** The first part of an overlong paragraph, up to a blank. */
  private cut(item: RegExpExecArray | null): Step {
    const piece = this.text.slice(this.position, this.position + MAX_PARAGRAPH_CHARS);
    const blank = Math.max(piece.lastIndexOf(" "), piece.lastIndexOf("\n"));
    const end = this.position + (blank > MAX_PARAGRAPH_CHARS / 2 ? blank + 1 : piece.length);
    const text = this.text.slice(this.position, end);
    return { finished: true, end, block: paragraph([item ? text.replace(ITEM, "$3") : text], item) };
  }

  private code(fence: Fence): Step {
    const lines: string[] = [];
    let at = this.position;
    for (;;) {
      const line = this.line(at);
      const block: Block = {
        type: "code",
        language: fence.language,
        text: lines.join("\n"),
        continued: fence.continued,
      };
      if (line.text.trim().startsWith(fence.mark) && line.text.trim().replace(/[`~]/g, "") === "") {
        const empty = lines.length === 0 && fence.continued;
        if (line.complete) return { finished: true, end: line.end, ...(empty ? {} : { block }) };
        return { finished: false, end: 0, ...(empty ? {} : { block }) };
      }
      if (lines.length >= MAX_CODE_LINES) {
        return { finished: true, end: at, block, fence: { ...fence, continued: true } };
      }
      if (!line.complete) {
        const text = line.text === "" ? block.text : [...lines, line.text].join("\n");
        return { finished: false, end: 0, block: { ...block, text } };
      }
      lines.push(line.text);
      at = line.end;
    }
  }
}

interface Line {
  text: string;
  end: number;
  complete: boolean;
}

interface Step {
  /** False while more text may change the block. */
  finished: boolean;
  end: number;
  block?: Block;
  fence?: Fence;
  /** An incomplete line after the block, shown as a block until it is complete. */
  rest?: string;
}

function singleLine(line: string): Block | undefined {
  const heading = HEADING.exec(line);
  if (heading) return { type: "heading", level: heading[1]!.length, text: heading[2]! };
  return RULE.test(line) ? { type: "rule" } : undefined;
}

function paragraph(lines: string[], item: RegExpExecArray | null): Block {
  const text = lines.map((line) => line.trim()).join("\n");
  if (!item) return { type: "paragraph", text };
  return { type: "item", depth: Math.floor(item[1]!.length / 2), marker: item[2]!, text };
}

function quote(lines: string[]): Block {
  return { type: "quote", text: lines.map((line) => QUOTE.exec(line)?.[1] ?? "").join("\n") };
}

function table(lines: string[]): Block {
  const rows = lines.map((line) =>
    line
      .trim()
      .slice(1, -1)
      .split("|")
      .map((cell) => cell.trim()),
  );
  return { type: "table", rows: rows.filter((row) => !row.every((cell) => /^:?-{1,}:?$/.test(cell))) };
}
