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
  waitingMs: number;
  tokens?: number;
  cost?: Cost;
  spans: Span[];
}

const TITLE_CHARS = 80;

/** `now` ends what still runs. */
export function turnTraces(items: readonly Item[], running: boolean, now: number): TurnTrace[] {
  const traces: TurnTrace[] = [];
  let turn: Item[] = [];
  for (const item of items) {
    const opens = item.kind === "message" && item.role === "user";
    // Items between two turns, such as a change of mode, belong to none.
    if (opens && !turn.some(isPrompt)) turn = [];
    turn.push(item);
    if (item.kind !== "turn-end") continue;
    traces.push(trace(turn, item, now));
    turn = [];
  }
  if (running && turn.length > 0) traces.push(trace(turn, undefined, now));
  return traces;
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
  const spans = timed.flatMap((item) => spanOf(item, start, end, ended === undefined) ?? []);
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
  const waiting = spans.filter((span) => span.kind === "waiting");
  return {
    key: (prompt ?? items[0])!.key,
    title: firstLine(prompt?.text ?? ""),
    start,
    end,
    stopReason: ended?.stopReason,
    ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
    waitingMs: waiting.reduce((sum, span) => sum + span.end - span.start, 0),
    tokens: ended?.tokens,
    cost: ended?.cost,
    spans,
  };
}

function spanOf(item: Item, turnStart: number, turnEnd: number, running: boolean): Span | undefined {
  // A browser whose clock is ahead of the server's sends prompts "after" their answers.
  const start = Math.max(item.time, turnStart);
  const base = { key: item.key, item: item.key, n: item.n, start, failed: false, depth: 0 };
  const until = (end: number | undefined) => ({
    end: Math.max(start, end ?? turnEnd),
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
