/** The page over an output directory: which runs are shown, their figures, and recorded sessions. */

import { expect, test } from "vitest";
import { figures, histogram } from "../../src/rollouts/list/figures";
import { readMessages } from "../../src/replay/messageLines";
import { Recording } from "../../src/replay/recording";
import { readTrajectory } from "../../src/rollouts/run/trajectory";
import type { Run } from "../../src/rollouts/run";
import { ALL, selectRuns } from "../../src/rollouts/list/selectRuns";
import { splitPatch } from "../../src/rollouts/run/splitPatch";

function run(id: string, fields: Partial<Run> = {}): Run {
  return {
    id,
    attempt: 1,
    agent: "mock",
    text: null,
    stop_reason: "end_turn",
    input_tokens: null,
    output_tokens: null,
    total_tokens: null,
    cost_usd: null,
    seconds: 1,
    exit_codes: {},
    score: null,
    error: null,
    error_kind: null,
    node: "here",
    started_at: "",
    passed: true,
    ...fields,
  };
}

const RUNS = [
  run("t10", { seconds: 4, cost_usd: 0.5, total_tokens: 10 }),
  run("t2", { seconds: 2, passed: false, score: 0, text: "Wrong answer" }),
  run("t1", { seconds: 9, passed: false, error: "gone", error_kind: "sandbox", node: "other" }),
];
const ids = (runs: readonly Run[]) => runs.map((one) => one.id);

test("runs are found by outcome, node and text, and sorted with missing values last", () => {
  expect(ids(selectRuns(RUNS, { ...ALL, column: "id" }))).toEqual(["t1", "t2", "t10"]);
  expect(ids(selectRuns(RUNS, { ...ALL, column: "cost_usd" }))).toEqual(["t10", "t1", "t2"]);
  expect(ids(selectRuns(RUNS, { ...ALL, column: "cost_usd", descending: true }))[0]).toBe("t10");
  expect(ids(selectRuns(RUNS, { ...ALL, outcome: "not passed" }))).toEqual(["t2"]);
  expect(ids(selectRuns(RUNS, { ...ALL, outcome: "failed" }))).toEqual(["t1"]);
  expect(ids(selectRuns(RUNS, { ...ALL, node: "other" }))).toEqual(["t1"]);
  expect(ids(selectRuns(RUNS, { ...ALL, text: "wrong" }))).toEqual(["t2"]);
});

test("figures are those of the runs", () => {
  const found = figures(RUNS);
  expect([found.passed, found.failed, found.cost, found.tokens]).toEqual([1, 1, 0.5, 10]);
  expect([found.passRate, found.medianSeconds]).toEqual([1 / 3, 4]);
  expect(found.failures).toEqual([["sandbox", 1]]);
  const bins = histogram(RUNS, 7);
  expect(bins.map((bin) => bin.passed + bin.others)).toEqual([1, 0, 1, 0, 0, 0, 1]);
  expect(figures([]).passRate).toBe(0);
});

const PROMPT = {
  jsonrpc: "2.0",
  id: 1,
  method: "session/prompt",
  params: { sessionId: "s", prompt: [{ type: "text", text: "hello" }] },
};
const UPDATE = (text: string) => ({
  jsonrpc: "2.0",
  method: "session/update",
  params: {
    sessionId: "s",
    update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
  },
});
const END = { jsonrpc: "2.0", id: 1, result: { stopReason: "end_turn" } };

test("a recording shows the conversation as it was at any message", () => {
  const lines = [
    { createdAt: 1000, sender: "client", payload: PROMPT },
    { createdAt: 1500, sender: "agent", payload: UPDATE("one ") },
    { createdAt: 2500, sender: "agent", payload: UPDATE("two") },
    { createdAt: 2600, sender: "agent", payload: END },
  ];
  const text = lines.map((line) => JSON.stringify(line)).join("\n");
  const recording = new Recording(readMessages(`${text}\n{"createdAt": 3, "sen`));
  expect(recording.length).toBe(4);
  const said = () =>
    recording.snapshot().conversation.items.flatMap((item) => (item.kind === "message" ? [item.text] : []));
  expect(said()).toEqual(["hello", "one two"]);
  recording.at(2);
  expect(said()).toEqual(["hello", "one "]);
  expect(recording.elapsed(2)).toBe(500);
  recording.at(0);
  expect(said()).toEqual([]);
});

test("a run that kept only its trajectory is shown from that", () => {
  const steps = [
    { source: "user", message: "fix it", timestamp: "2026-01-01T00:00:00Z" },
    { source: "agent", message: "done", reasoning_content: "hm" },
    {
      source: "agent",
      message: "",
      tool_calls: [{ tool_call_id: "c", function_name: "Read a file", arguments: { path: "a" } }],
      observation: { results: [{ source_call_id: "c", content: "text of the file" }] },
    },
  ];
  const { items } = new Recording(readTrajectory(JSON.stringify({ steps }))).snapshot().conversation;
  expect(items.map((item) => item.kind)).toEqual(["message", "thought", "message", "tool", "turn-end"]);
  const tool = items[3]!;
  expect(tool.kind === "tool" && [tool.title, tool.content.length]).toEqual(["Read a file", 1]);
});

test("a patch is split by file", () => {
  const text = "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\ndiff --git a/d/y b/d/y\n@@ -0,0 +1 @@\n+new\n";
  expect(splitPatch(text).map((file) => file.path)).toEqual(["x", "d/y"]);
  expect(splitPatch("")).toEqual([]);
});
