/** Reads command lines and pairs of name and value from forms. */

export interface Pair {
  name: string;
  value: string;
}

/** The words of a command line; quotes keep blanks within a word. */
export function wordsFrom(text: string): string[] {
  return [...text.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    (match) => match[1] ?? match[2] ?? match[3] ?? "",
  );
}

/** Pasted lines of name and value, or undefined if the text is not that. */
export function pairsFrom(text: string, separator: "=" | ":"): Pair[] | undefined {
  const found = text
    .split("\n")
    .map((line) => line.trim().replace(/^export\s+/, ""))
    .filter(Boolean)
    .map((line) => {
      const at = line.indexOf(separator);
      return { name: line.slice(0, Math.max(0, at)).trim(), value: line.slice(at + 1).trim() };
    });
  return found.length > 0 && found.every(({ name }) => isName(name)) ? found : undefined;
}

/** What the pairs say, undefined if they are all blank. Throws with the name that is none. */
export function nonBlankPairs(pairs: readonly Pair[], of: string): Record<string, string> | undefined {
  const given = pairs.filter(({ name, value }) => name.trim() || value);
  for (const { name } of given)
    if (!isName(name.trim())) throw new Error(`“${name}” is not the name of ${of}.`);
  if (given.length === 0) return undefined;
  return Object.fromEntries(given.map(({ name, value }) => [name.trim(), value]));
}

function isName(text: string): boolean {
  return text !== "" && !/[\s=:]/.test(text);
}
