/** The palette: what it offers and what the typed words leave of it. */

import { expect, test } from "vitest";
import { matchingCommands, type PaletteCommand } from "../../src/palette/paletteCommands";

function command(label: string, detail: string): PaletteCommand {
  return { key: label, label, detail, run: () => undefined };
}

const COMMANDS = [
  command("New session", "action"),
  command("Fix the files of the parser", "session · Mock · idle"),
  command("Files", "panel"),
];

test("every word has to occur, in the name or beside it", () => {
  const labels = (typed: string) => matchingCommands(COMMANDS, typed).map((one) => one.label);
  expect(labels("")).toEqual(COMMANDS.map((one) => one.label));
  expect(labels("mock PARSER")).toEqual(["Fix the files of the parser"]);
  expect(labels("nothing like this")).toEqual([]);
});

test("a name that begins with the text comes first", () => {
  expect(matchingCommands(COMMANDS, "files").map((one) => one.label)).toEqual([
    "Files",
    "Fix the files of the parser",
  ]);
});
