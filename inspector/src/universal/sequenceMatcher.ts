/** Matching runs of two lists, found as Python's `difflib` finds them, so that both sides show the same diff. */

type Run = [aStart: number, bStart: number, size: number];
type Opcode = { tag: "equal" | "change"; a: [number, number]; b: [number, number] };

/** Lines more frequent than this share of a long text do not start a match, as in `difflib`. */
const POPULAR_FROM_LINES = 200;

export function opcodes(a: readonly string[], b: readonly string[]): Opcode[] {
  const codes: Opcode[] = [];
  let [i, j] = [0, 0];
  for (const [ai, bj, size] of [...matchingRuns(a, b), [a.length, b.length, 0] as Run]) {
    if (i < ai || j < bj) codes.push({ tag: "change", a: [i, ai], b: [j, bj] });
    if (size > 0) codes.push({ tag: "equal", a: [ai, ai + size], b: [bj, bj + size] });
    [i, j] = [ai + size, bj + size];
  }
  return codes;
}

function matchingRuns(a: readonly string[], b: readonly string[]): Run[] {
  const places = placesOf(b);
  const queue: [number, number, number, number][] = [[0, a.length, 0, b.length]];
  const runs: Run[] = [];
  for (let next = queue.pop(); next; next = queue.pop()) {
    const [alo, ahi, blo, bhi] = next;
    const [i, j, size] = longestRun(a, b, places, alo, ahi, blo, bhi);
    if (size === 0) continue;
    runs.push([i, j, size]);
    if (alo < i && blo < j) queue.push([alo, i, blo, j]);
    if (i + size < ahi && j + size < bhi) queue.push([i + size, ahi, j + size, bhi]);
  }
  return merged(runs.sort((x, y) => x[0] - y[0] || x[1] - y[1]));
}

function placesOf(b: readonly string[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  b.forEach((line, index) => {
    const known = places.get(line);
    if (known) known.push(index);
    else places.set(line, [index]);
  });
  if (b.length >= POPULAR_FROM_LINES) {
    const limit = Math.floor(b.length / 100) + 1;
    for (const [line, indexes] of places) if (indexes.length > limit) places.delete(line);
  }
  return places;
}

function longestRun(
  a: readonly string[],
  b: readonly string[],
  places: Map<string, number[]>,
  alo: number,
  ahi: number,
  blo: number,
  bhi: number,
): Run {
  let best: Run = [alo, blo, 0];
  let lengths = new Map<number, number>();
  for (let i = alo; i < ahi; i += 1) {
    const next = new Map<number, number>();
    for (const j of places.get(a[i]!) ?? []) {
      if (j < blo) continue;
      if (j >= bhi) break;
      const size = (lengths.get(j - 1) ?? 0) + 1;
      next.set(j, size);
      if (size > best[2]) best = [i - size + 1, j - size + 1, size];
    }
    lengths = next;
  }
  let [i, j, size] = best;
  while (i > alo && j > blo && a[i - 1] === b[j - 1]) [i, j, size] = [i - 1, j - 1, size + 1];
  while (i + size < ahi && j + size < bhi && a[i + size] === b[j + size]) size += 1;
  return [i, j, size];
}

function merged(runs: Run[]): Run[] {
  const joined: Run[] = [];
  for (const run of runs) {
    const last = joined.at(-1);
    if (last && last[0] + last[2] === run[0] && last[1] + last[2] === run[1]) last[2] += run[2];
    else joined.push([...run]);
  }
  return joined;
}
