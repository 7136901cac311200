/** The turns of a conversation as spans of time: thinking, writing, tools, waiting for the user. */

import type { Cost, Item, MessageItem, TurnEndItem } from "../fold/chat/conversation";

export type SpanKind = "start" | "thinking" | "writing" | "tool" | "waiting";

export interface Span {
  key: string;
  kind: SpanKind;
  label: string;
  /** Key of the item whose card the span stands for. */
  item: string;
  /** Position of the raw event. */
  n: number;
  start: number;
  end: number;
  /** It lasts; `end` is the present. */
  open: boolean;
  failed: boolean;
  depth: number;
}

export interface TurnTrace {
  key: string;
  /** First line of the prompt; empty for a prompt that is not in the log. */
  title: string;
  start: number;
  /** The present while the turn runs. */
  end: number;
  /** Undefined while the turn runs. */
  stopReason?: string;
  /** Time from the prompt to the first part of the answer. */
  firstTokenMs?: number;
  /** Time in which at least one request waited for the user. */
  waitingMs: number;
  tokens?: number;
  cost?: Cost;
  spans: Span[];
  /** The spans that failed. */
  failed: Span[];
}

const TITLE_CHARS = 80;

/** The traces of a growing conversation: the items of an ended turn are read once, unless one of them changes. */
export class TurnTraces {
  private items: readonly Item[] = [];
  private traces: TurnTrace[] = [];
  /** Index behind the last item of each trace. */
  private ends: number[] = [];

  /** `now` ends what still runs. */
  read(items: readonly Item[], running: boolean, now: number): TurnTrace[] {
    const changed = firstDifference(this.items, items);
    this.items = items;
    while (this.ends.length > 0 && this.ends.at(-1)! > changed) {
      this.ends.pop();
      this.traces.pop();
    }
    let turn: Item[] = [];
    for (let index = this.ends.at(-1) ?? 0; index < items.length; index += 1) {
      const item = items[index]!;
      // Items between two turns, such as a change of mode, belong to none.
      if (isPrompt(item) && !turn.some(isPrompt)) turn = [];
      turn.push(item);
      if (item.kind !== "turn-end") continue;
      this.traces.push(trace(turn, item, now));
      this.ends.push(index + 1);
      turn = [];
    }
    return running && turn.length > 0 ? [...this.traces, trace(turn, undefined, now)] : [...this.traces];
  }
}

function firstDifference(before: readonly Item[], items: readonly Item[]): number {
  const length = Math.min(before.length, items.length);
  let index = 0;
  while (index < length && before[index] === items[index]) index += 1;
  return index;
}

function firstLine(text: string): string {
  return text.trim().split("\n", 1)[0]!.slice(0, TITLE_CHARS);
}

function isPrompt(item: Item): item is MessageItem {
  return item.kind === "message" && item.role === "user";
}

function trace(items: readonly Item[], ended: TurnEndItem | undefined, now: number): TurnTrace {
  const prompt = items.find(isPrompt);
  const timed = items.filter((item) => item.time > 0);
  const start = prompt?.time || (timed[0]?.time ?? 0);
  const end = Math.max(start, ended?.time ?? now);
  const running = ended === undefined;
  const spans = timed.flatMap((item) => spanOf(item, start, end, running) ?? []);
  const answer = timed.find(
    (item) => (item.kind === "message" && item.role === "assistant") || item.kind === "thought",
  );
  const firstTokenMs = answer && prompt ? Math.max(0, answer.time - start) : undefined;
  const first = spans[0];
  if (prompt && first && first.start > start) {
    spans.unshift({
      key: `${prompt.key}-start`,
      kind: "start",
      label: "no reaction yet",
      item: prompt.key,
      n: prompt.n,
      start,
      end: first.start,
      open: false,
      failed: false,
      depth: 0,
    });
  }
  return {
    key: (prompt ?? items[0])!.key,
    title: firstLine(prompt?.text ?? ""),
    start,
    end,
    stopReason: ended?.stopReason,
    ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
    waitingMs: waitingTime(spans),
    tokens: ended?.tokens,
    cost: ended?.cost,
    spans,
    failed: spans.filter((span) => span.failed),
  };
}

/** Requests that wait at the same time count once. The spans are in the order in which they began. */
function waitingTime(spans: readonly Span[]): number {
  let sum = 0;
  let until = 0;
  for (const { kind, start, end } of spans) {
    if (kind !== "waiting" || end <= until) continue;
    sum += end - Math.max(start, until);
    until = end;
  }
  return sum;
}

function spanOf(item: Item, turnStart: number, turnEnd: number, running: boolean): Span | undefined {
  // The clocks of browser and server differ: a prompt may come "after" its answer, or an answer "after" the turn.
  const latest = running ? Infinity : turnEnd;
  const start = Math.min(latest, Math.max(item.time, turnStart));
  const base = { key: item.key, item: item.key, n: item.n, start, failed: false, depth: 0 };
  const until = (end: number | undefined) => ({
    end: Math.min(latest, Math.max(start, end ?? turnEnd)),
    open: running && end === undefined,
  });
  switch (item.kind) {
    case "thought":
      return { ...base, kind: "thinking", label: firstLine(item.text) || "thinking", ...until(item.endedAt) };
    case "message":
      if (item.role === "user") return undefined;
      return { ...base, kind: "writing", label: firstLine(item.text) || "answer", ...until(item.endedAt) };
    case "tool":
      return {
        ...base,
        kind: "tool",
        label: item.title,
        ...until(item.endedAt),
        failed: item.status === "failed",
        depth: item.depth,
      };
    case "request":
      return { ...base, kind: "waiting", label: item.request.title, ...until(item.endedAt) };
    default:
      return undefined;
  }
}
