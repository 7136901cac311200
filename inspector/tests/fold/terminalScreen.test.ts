/** Output of commands as a terminal shows it. */

import { expect, test } from "vitest";
import { GrowingOutput, terminalLines, terminalPlain } from "../../src/fold/terminalScreen";

// clauses: inspector-22
test("a carriage return writes over the line", () => {
  expect(terminalPlain("Downloading 10%\rDownloading 55%\rDownloading 100%\ndone")).toBe(
    "Downloading 100%\ndone",
  );
  expect(terminalPlain("longer line\rshort")).toBe("shortr line");
  expect(terminalPlain("longer line\r\u001b[Kshort")).toBe("short");
});

test("line ends of both kinds, backspaces and cursor movements", () => {
  expect(terminalPlain("a\r\nb\n")).toBe("a\nb\n");
  expect(terminalPlain("ab\bc")).toBe("ac");
  expect(terminalPlain("one\ntwo\u001b[1A\r\u001b[2KONE")).toBe("ONE\ntwo");
  expect(terminalPlain("a\u001b[5Cb")).toBe("a     b");
});

// clauses: inspector-22
test("colours become classes, and end where the program ends them", () => {
  expect(terminalLines("\u001b[1;31mred\u001b[0m plain")).toEqual([
    [
      { classes: ["bold", "fg-1"], text: "red" },
      { classes: [], text: " plain" },
    ],
  ]);
  const [line] = terminalLines("\u001b[38;5;208mo\u001b[48;2;1;2;3mb\u001b[39;49mp");
  expect(line?.map((run) => [run.foreground, run.background])).toEqual([
    ["rgb(255 135 0)", undefined],
    ["rgb(255 135 0)", "rgb(1 2 3)"],
    [undefined, undefined],
  ]);
});

test("titles, other sequences and control characters are not shown", () => {
  expect(terminalPlain("\u001b]0;title\u0007text\u001b[?25l\u0000\u001b[2J!")).toBe("text!");
});

test("an output that grows has the same lines as when it is read at once", () => {
  const text = "a\u001b[1;31mred\u001b[0m\r\n10%\r55%\u001b]0;title\u0007 done\n\u001b[1Aup\nlast";
  const growing = new GrowingOutput();
  for (let end = 1; end <= text.length; end += 1) growing.read(text.slice(0, end));
  expect(growing.read(text)).toBe(3);
  expect(growing.lines()).toEqual(terminalLines(text));
  expect(growing.lines(2)).toEqual(terminalLines(text).slice(2));
  growing.read("another text");
  expect(growing.lines()).toEqual(terminalLines("another text"));
});

test("a long output is not read again with each part", () => {
  const growing = new GrowingOutput();
  const line = "compiling module number 123456 of the large project [ok]\n";
  let text = line.repeat(20_000);
  growing.read(text);
  const began = performance.now();
  for (let part = 0; part < 100; part += 1) growing.read((text += line));
  // Reading all of it takes more than 50 ms each time.
  expect(performance.now() - began).toBeLessThan(2_000);
  expect(growing.read(text)).toBe(20_101);
});
