/**
 * Output of a command as a terminal would show it: colours and styles as runs, carriage returns, backspaces and
 * erased lines obeyed, other control sequences left out. Lines above the last ones can be reached by cursor-up.
 */

interface Style {
  /** Class names without the prefix: `fg-1`, `bg-4`, `bold`. */
  classes: string[];
  /** Colours of the 256-colour table or 24 bits, as CSS. */
  foreground?: string;
  background?: string;
}

export interface Run extends Style {
  text: string;
}

interface Cell {
  char: string;
  style: Style;
}

const PLAIN: Style = { classes: [] };
/** A wider line is possible, but a cursor position beyond this is a fault of the program. */
const MAX_COLUMN = 10_000;
/* eslint-disable no-control-regex -- these characters are what it looks for */
const SEQUENCE =
  /\u001b(?:\[([0-?]*)[ -/]*([@-~])|\][^\u0007\u001b]*(?:\u0007|\u001b\\)|[@-Z\\-_])|[\r\n\b]|[^\u001b\r\n\b]+/g;
const CONTROL = /[\u0000-\u0007\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g;

/** The begin of a control sequence at the end of a text that goes on. */
const UNFINISHED = /\u001b(?:\[[0-?]*[ -/]*|\][^\u0007\u001b]{0,999})?$/;

/** The lines of an output that grows: of a text that begins with the one before only the rest is read. */
export class GrowingOutput {
  private screen = new Screen();
  private done = "";

  /** Returns how many lines the text has. */
  read(text: string): number {
    if (!text.startsWith(this.done)) {
      this.screen = new Screen();
      this.done = "";
    }
    const unfinished = UNFINISHED.exec(text.slice(this.done.length))?.[0].length ?? 0;
    const added = text.slice(this.done.length, text.length - unfinished);
    for (const match of added.matchAll(SEQUENCE)) this.screen.take(match);
    this.done = text.slice(0, text.length - unfinished);
    return this.screen.height;
  }

  lines(from = 0): Run[][] {
    return this.screen.lines(from);
  }
}

export function terminalLines(text: string): Run[][] {
  const output = new GrowingOutput();
  output.read(text);
  return output.lines();
}

/** The same without styles. */
export function terminalPlain(text: string): string {
  return terminalLines(text)
    .map((line) => line.map((run) => run.text).join(""))
    .join("\n");
}

class Screen {
  private readonly rows: Cell[][] = [[]];
  private row = 0;
  private column = 0;
  private style: Style = PLAIN;

  take([token, parameters, final]: RegExpMatchArray): void {
    if (token === "\n") this.moveTo(this.row + 1, 0);
    else if (token === "\r") this.column = 0;
    else if (token === "\b") this.column = Math.max(0, this.column - 1);
    else if (final !== undefined) this.control(final, (parameters ?? "").split(";").map(Number));
    else if (!token.startsWith("\u001b")) this.write(token.replace(CONTROL, ""));
  }

  get height(): number {
    return this.rows.length;
  }

  lines(from: number): Run[][] {
    return this.rows.slice(from).map(runs);
  }

  private write(text: string): void {
    const cells = this.rows[this.row]!;
    for (const char of text) {
      while (cells.length < this.column) cells.push({ char: " ", style: PLAIN });
      cells[this.column] = { char, style: this.style };
      this.column += 1;
    }
  }

  private moveTo(row: number, column: number): void {
    this.row = Math.max(0, row);
    this.column = Math.min(MAX_COLUMN, Math.max(0, column));
    // Only one new line at a time: a cursor position is relative to a screen that the page does not have.
    if (this.row >= this.rows.length) {
      this.row = this.rows.length;
      this.rows.push([]);
    }
  }

  private control(final: string, numbers: number[]): void {
    const [first = 0] = numbers;
    const count = Math.max(1, first);
    if (final === "m") this.style = changedStyle(this.style, numbers);
    else if (final === "K") this.erase(first);
    else if (final === "A") this.moveTo(this.row - count, this.column);
    else if (final === "B" && this.row + 1 < this.rows.length) this.moveTo(this.row + 1, this.column);
    else if (final === "C") this.moveTo(this.row, this.column + count);
    else if (final === "D") this.moveTo(this.row, this.column - count);
    else if (final === "G") this.moveTo(this.row, count - 1);
    else if (final === "F") this.moveTo(this.row - count, 0);
  }

  private erase(what: number): void {
    const cells = this.rows[this.row]!;
    if (what === 0) cells.length = Math.min(cells.length, this.column);
    else if (what === 2) cells.length = 0;
    else
      for (let at = 0; at < Math.min(this.column, cells.length); at += 1)
        cells[at] = { char: " ", style: PLAIN };
  }
}

function runs(cells: readonly Cell[]): Run[] {
  const found: Run[] = [];
  let style: Style | undefined;
  for (const cell of cells) {
    const last = found.at(-1);
    if (last && cell.style === style) last.text += cell.char;
    else found.push({ ...cell.style, text: cell.char });
    style = cell.style;
  }
  return found;
}

const ATTRIBUTES: Record<number, string> = {
  1: "bold",
  2: "dim",
  3: "italic",
  4: "underline",
  7: "inverse",
  9: "strike",
};
const ENDED: Record<number, string[]> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
  29: ["strike"],
};

function changedStyle(style: Style, numbers: number[]): Style {
  let next: Style = { ...style, classes: [...style.classes] };
  const without = (test: (name: string) => boolean) => {
    next.classes = next.classes.filter((name) => !test(name));
  };
  const colour = (kind: "fg" | "bg", name: string | undefined, css?: string) => {
    without((one) => one.startsWith(`${kind}-`));
    if (name) next.classes.push(name);
    if (kind === "fg") next.foreground = css;
    else next.background = css;
  };
  for (let at = 0; at < numbers.length; at += 1) {
    const code = numbers[at]!;
    if (code === 0) next = { classes: [] };
    else if (ATTRIBUTES[code]) next.classes.push(ATTRIBUTES[code]);
    else if (ENDED[code]) without((name) => ENDED[code]!.includes(name));
    else if (code >= 30 && code <= 37) colour("fg", `fg-${code - 30}`);
    else if (code >= 90 && code <= 97) colour("fg", `fg-${code - 82}`);
    else if (code >= 40 && code <= 47) colour("bg", `bg-${code - 40}`);
    else if (code >= 100 && code <= 107) colour("bg", `bg-${code - 92}`);
    else if (code === 39) colour("fg", undefined);
    else if (code === 49) colour("bg", undefined);
    else if (code === 38 || code === 48) {
      const kind = code === 38 ? "fg" : "bg";
      if (numbers[at + 1] === 5) {
        const number = numbers[at + 2] ?? 0;
        if (number < 16) colour(kind, `${kind}-${number}`);
        else colour(kind, undefined, tableColour(number));
        at += 2;
      } else if (numbers[at + 1] === 2) {
        const [red = 0, green = 0, blue = 0] = numbers.slice(at + 2, at + 5);
        colour(kind, undefined, `rgb(${red} ${green} ${blue})`);
        at += 4;
      }
    }
  }
  return next;
}

/** Colours 16 to 255: a cube of 6 levels, then 24 greys. */
function tableColour(number: number): string {
  if (number >= 232) {
    const grey = 8 + (number - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const level = (value: number) => (value === 0 ? 0 : 55 + value * 40);
  const cube = number - 16;
  return `rgb(${level(Math.floor(cube / 36))} ${level(Math.floor(cube / 6) % 6)} ${level(cube % 6)})`;
}
