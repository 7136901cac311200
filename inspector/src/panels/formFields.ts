/** Reads lists and pairs from text fields of forms. */

export function lines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
}

/** The words of a command line; quotes keep blanks within a word. */
export function wordsFrom(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    (match) => match[1] ?? match[2] ?? match[3] ?? "",
  );
}

/** Names and values, one pair a line. Throws with the line that is not one. */
export function pairsFrom(given: string[], separator: string): Record<string, string> {
  return Object.fromEntries(
    given.map((line) => {
      const at = line.indexOf(separator);
      const name = line.slice(0, at).trim();
      if (at < 1 || /\s/.test(name)) throw new Error(`“${line}” is not a name, “${separator}” and a value.`);
      return [name, line.slice(at + 1).trim()];
    }),
  );
}
