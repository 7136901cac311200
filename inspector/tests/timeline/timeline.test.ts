/** Turns as spans of time. */

import { expect, test } from "vitest";
import type { Item } from "../../src/fold/chat/conversation";
import { SessionFold } from "../../src/fold/sessionFold";
import type { JsonObject } from "../../src/json";
import { TurnTraces } from "../../src/timeline/turnTraces";

function turnTraces(...read: Parameters<TurnTraces["read"]>) {
  return new TurnTraces().read(...read);
}

type Line = [sender: "agent" | "client", time: number, payload: JsonObject];

function items(...lines: Line[]): readonly Item[] {
  const fold = new SessionFold();
  lines.forEach(([sender, time, payload], n) =>
    fold.add({ n, sender, time, after: n, payload: { jsonrpc: "2.0", ...payload } }),
  );
  fold.publish();
  return fold.conversation.items;
}

function prompt(time: number, id = "p"): Line {
  const params = { sessionId: "s", prompt: [{ type: "text", text: "do it\nplease" }] };
  return ["client", time, { id, method: "session/prompt", params }];
}

function update(time: number, fields: JsonObject): Line {
  return ["agent", time, { method: "session/update", params: { sessionId: "s", update: fields } }];
}

function chunk(time: number, kind: "message" | "thought"): Line {
  return update(time, { sessionUpdate: `agent_${kind}_chunk`, content: { type: "text", text: "x" } });
}

const ASKED: JsonObject = {
  id: 7,
  method: "session/request_permission",
  params: {
    sessionId: "s",
    toolCall: { toolCallId: "t", title: "Write a file" },
    options: [{ optionId: "a", name: "Allow", kind: "allow_once" }],
  },
};
const ALLOWED: JsonObject = { id: 7, result: { outcome: { outcome: "selected", optionId: "a" } } };
const END: JsonObject = { id: "p", result: { stopReason: "end_turn", usage: { totalTokens: 70 } } };

test("a turn has a span for each thing that took time, and its sums", () => {
  const [trace, ...more] = turnTraces(
    items(
      prompt(1000),
      chunk(1400, "thought"),
      chunk(1900, "thought"),
      update(2000, { sessionUpdate: "tool_call", toolCallId: "t", title: "Write" }),
      ["agent", 2100, ASKED],
      ["client", 5100, ALLOWED],
      update(5600, { sessionUpdate: "tool_call_update", toolCallId: "t", status: "failed" }),
      update(5650, {
        sessionUpdate: "usage_update",
        used: 1,
        size: 9,
        cost: { amount: 0.25, currency: "USD" },
      }),
      chunk(5700, "message"),
      chunk(6000, "message"),
      ["agent", 6100, END],
    ),
    false,
    9999,
  );
  expect(more).toEqual([]);
  expect(trace).toMatchObject({
    title: "do it",
    start: 1000,
    end: 6100,
    stopReason: "end_turn",
    firstTokenMs: 400,
    waitingMs: 3000,
    tokens: 70,
    cost: { amount: 0.25, currency: "USD" },
  });
  expect(trace!.spans.map((span) => [span.kind, span.start, span.end, span.failed])).toEqual([
    ["start", 1000, 1400, false],
    ["thinking", 1400, 1900, false],
    ["tool", 2000, 5600, true],
    ["waiting", 2100, 5100, false],
    ["writing", 5700, 6000, false],
  ]);
});

test("what still runs lasts until now", () => {
  const open = items(
    prompt(1000),
    update(1500, { sessionUpdate: "tool_call", toolCallId: "t", title: "Build" }),
  );
  const [trace] = turnTraces(open, true, 4000);
  expect(trace).toMatchObject({ end: 4000 });
  expect(trace!.stopReason).toBeUndefined();
  expect(trace!.spans.at(-1)).toMatchObject({ kind: "tool", start: 1500, end: 4000, open: true });
  expect(turnTraces(open, false, 4000)).toEqual([]);
});

test("clocks that differ and unknown times give no negative length", () => {
  const [trace] = turnTraces(
    items(prompt(5000), chunk(1200, "message"), chunk(0, "thought"), ["agent", 1300, END]),
    false,
    0,
  );
  expect(trace).toMatchObject({ start: 5000, end: 5000, firstTokenMs: 0 });
  expect(trace!.spans.map((span) => [span.start, span.end])).toEqual([[5000, 5000]]);
});

test("each turn costs what was added since the last one", () => {
  const cost = (time: number, amount: number) =>
    update(time, { sessionUpdate: "usage_update", used: 1, size: 9, cost: { amount, currency: "USD" } });
  const traces = turnTraces(
    items(
      prompt(1, "p"),
      cost(2, 0.5),
      ["agent", 3, END],
      prompt(4, "q"),
      cost(5, 0.75),
      ["agent", 6, { ...END, id: "q" }],
      prompt(7, "r"),
      ["agent", 8, { ...END, id: "r" }],
    ),
    false,
    9,
  );
  expect(traces.map((trace) => trace.cost?.amount)).toEqual([0.5, 0.25, undefined]);
});

const PERMISSION = (id: number) => ({ ...ASKED, id });
const ANSWER = (id: number) => ({ ...ALLOWED, id });

test("a turn does not wait longer than it lasts, however the clocks differ", () => {
  const [trace] = turnTraces(
    items(prompt(1000), ["agent", 1100, ASKED], ["client", 1275, ALLOWED], ["agent", 1273, END]),
    false,
    9999,
  );
  expect(trace).toMatchObject({ start: 1000, end: 1273, waitingMs: 173 });
  expect(trace!.spans.at(-1)).toMatchObject({ kind: "waiting", start: 1100, end: 1273 });
});

test("requests that wait at the same time count once", () => {
  const [trace] = turnTraces(
    items(
      prompt(0),
      ["agent", 100, PERMISSION(1)],
      ["agent", 200, PERMISSION(2)],
      ["client", 250, ANSWER(2)],
      ["client", 400, ANSWER(1)],
      ["agent", 500, PERMISSION(3)],
      ["client", 600, ANSWER(3)],
      ["agent", 700, { ...END }],
    ),
    false,
    9999,
  );
  expect(trace!.waitingMs).toBe(400);
});

test("only what changed is read again", () => {
  const lines: Line[] = [];
  for (let turn = 0; turn < 3; turn += 1)
    lines.push(
      prompt(10 * turn + 1, `p${turn}`),
      update(10 * turn + 2, { sessionUpdate: "tool_call", toolCallId: `t${turn}`, title: "Build" }),
      ["agent", 10 * turn + 3, { ...END, id: `p${turn}` }],
    );
  const reader = new TurnTraces();
  const before = reader.read(items(...lines.slice(0, 6)), false, 0);
  expect(before).toHaveLength(2);

  const conversation = items(...lines);
  const [first, second] = reader.read(conversation, false, 0);
  expect(reader.read([...conversation], false, 0)).toEqual(reader.read(conversation, false, 0));
  expect(reader.read([...conversation], false, 0)[0]).toBe(first);

  const late = conversation.with(4, { ...conversation[4]!, status: "failed" } as Item);
  const after = reader.read(late, false, 0);
  expect(after[0]).toBe(first);
  expect(after[1]).not.toBe(second);
  expect(after[1]!.failed).toHaveLength(1);
  expect(after).toHaveLength(3);
});
