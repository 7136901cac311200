/** A unified diff with three lines of context, in the form `diff -u` and git write it. */

import { opcodes } from "./sequenceMatcher";

const CONTEXT = 3;

export function unifiedDiff(path: string, before: string, after: string): string {
  const [a, b] = [lines(before), lines(after)];
  const name = path.replace(/^\/+/, "");
  const groups = grouped(opcodes(a, b));
  if (groups.length === 0) return "";
  const out = [`--- a/${name}\n`, `+++ b/${name}\n`];
  for (const group of groups) {
    const [first, last] = [group[0]!, group.at(-1)!];
    out.push(`@@ -${range(first.a[0], last.a[1])} +${range(first.b[0], last.b[1])} @@\n`);
    for (const code of group) {
      if (code.tag === "equal") {
        out.push(...a.slice(...code.a).map((line) => ` ${line}`));
        continue;
      }
      out.push(
        ...a.slice(...code.a).map((line) => `-${line}`),
        ...b.slice(...code.b).map((line) => `+${line}`),
      );
    }
  }
  return out.map((line) => (line.endsWith("\n") ? line : `${line}\n\\ No newline at end of file\n`)).join("");
}

type Codes = ReturnType<typeof opcodes>;

function grouped(codes: Codes): Codes[] {
  const trimmed = codes.map((code) => ({ ...code }));
  const first = trimmed[0];
  if (first?.tag === "equal") {
    first.a = [Math.max(first.a[0], first.a[1] - CONTEXT), first.a[1]];
    first.b = [Math.max(first.b[0], first.b[1] - CONTEXT), first.b[1]];
  }
  const last = trimmed.at(-1);
  if (last?.tag === "equal") {
    last.a = [last.a[0], Math.min(last.a[1], last.a[0] + CONTEXT)];
    last.b = [last.b[0], Math.min(last.b[1], last.b[0] + CONTEXT)];
  }
  const groups: Codes[] = [];
  let group: Codes = [];
  for (const code of trimmed) {
    if (code.tag === "equal" && code.a[1] - code.a[0] > 2 * CONTEXT) {
      group.push({ tag: "equal", a: [code.a[0], code.a[0] + CONTEXT], b: [code.b[0], code.b[0] + CONTEXT] });
      groups.push(group);
      group = [{ tag: "equal", a: [code.a[1] - CONTEXT, code.a[1]], b: [code.b[1] - CONTEXT, code.b[1]] }];
    } else {
      group.push(code);
    }
  }
  if (group.length > 0) groups.push(group);
  return groups.filter((codes) => codes.some((code) => code.tag === "change"));
}

function range(start: number, stop: number): string {
  const length = stop - start;
  if (length === 1) return `${start + 1}`;
  return `${length === 0 ? start : start + 1},${length}`;
}

function lines(text: string): string[] {
  const all = text.split("\n").map((line) => `${line}\n`);
  const last = all.pop()!.slice(0, -1);
  return last ? [...all, last] : all;
}
