/** The fold: messages in, conversation out. */

import { expect, test } from "vitest";
import type { Item, RequestItem, ToolItem } from "../../src/fold/chat/conversation";
import type { LoggedMessage } from "../../src/fold/message";
import { SessionFold } from "../../src/fold/sessionFold";
import { UniversalMapper } from "../../src/fold/universal/mapper";
import type { Json, JsonObject } from "../../src/json";

let n = 0;

function message(sender: "agent" | "client", payload: Json): LoggedMessage {
  n += 1;
  return { n, sender, after: n, time: n * 1000, payload, ...(sender === "agent" ? { eventId: n } : {}) };
}

function update(fields: JsonObject): LoggedMessage {
  return message("agent", {
    jsonrpc: "2.0",
    method: "session/update",
    params: { sessionId: "s", update: fields },
  });
}

function text(words: string, more: JsonObject = {}): LoggedMessage {
  return update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: words }, ...more });
}

function prompt(words: string, id = "p1"): LoggedMessage {
  return message("client", {
    jsonrpc: "2.0",
    id,
    method: "session/prompt",
    params: { sessionId: "s", prompt: [{ type: "text", text: words }] },
  });
}

function permission(id: Json = 7): LoggedMessage {
  const options = [
    { optionId: "a", name: "Allow once", kind: "allow_once" },
    { optionId: "r", name: "Reject", kind: "reject_once" },
  ];
  return message("agent", {
    jsonrpc: "2.0",
    id,
    method: "session/request_permission",
    params: { sessionId: "s", toolCall: { toolCallId: "t", title: "Write" }, options },
  });
}

function answer(id: Json, result: Json): LoggedMessage {
  return message("client", { jsonrpc: "2.0", id, result });
}

function ended(id = "p1", stopReason = "end_turn"): LoggedMessage {
  return message("agent", { jsonrpc: "2.0", id, result: { stopReason } });
}

function run(...messages: LoggedMessage[]): SessionFold {
  return extend(new SessionFold(), ...messages);
}

function extend(fold: SessionFold, ...messages: LoggedMessage[]): SessionFold {
  for (const one of messages) fold.add(one);
  fold.publish();
  return fold;
}

function kinds(log: SessionFold): string[] {
  return log.conversation.items.map((item) => item.kind);
}

function last<T extends Item>(log: SessionFold): T {
  return log.conversation.items.at(-1) as T;
}

function card(log: SessionFold): RequestItem {
  return log.conversation.items.find((item): item is RequestItem => item.kind === "request")!;
}

test("chunks of one run are one message, and a tool call ends the run", () => {
  const log = run(
    prompt("hi"),
    text("a"),
    text("b"),
    update({ sessionUpdate: "tool_call", toolCallId: "t", title: "Read" }),
    text("c"),
  );
  expect(kinds(log)).toEqual(["message", "message", "tool", "message"]);
  expect(log.conversation.items.map((item) => (item.kind === "message" ? item.text : ""))).toEqual([
    "hi",
    "ab",
    "",
    "c",
  ]);
});

test("a new message id starts a new message", () => {
  const log = run(
    text("a", { messageId: "1" }),
    text("b", { messageId: "1" }),
    text("c", { messageId: "2" }),
  );
  expect(kinds(log)).toEqual(["message", "message"]);
});

test("a published conversation is never changed", () => {
  const fold = run(prompt("hi"), text("a"));
  const before = fold.conversation;
  const frozen = JSON.stringify(before);
  extend(fold, text("b"), permission());
  expect(JSON.stringify(before)).toBe(frozen);
  expect(fold.conversation.items).not.toBe(before.items);
  expect(fold.conversation.items[0]).toBe(before.items[0]);
});

test("one batch and many batches give the same conversation and the same rows", () => {
  const messages = [
    prompt("hi"),
    text("a"),
    permission(),
    answer(7, { outcome: { outcome: "selected", optionId: "a" } }),
    message("agent", { jsonrpc: "2.0", method: "_vendor/one" }),
    message("agent", { jsonrpc: "2.0", method: "_vendor/two" }),
    text("b\n\n"),
    text("c"),
    ended(),
  ];
  const stepwise = new SessionFold();
  for (const one of messages) extend(stepwise, one);
  const whole = run(...messages);
  expect(stepwise.conversation).toEqual(whole.conversation);
  expect(stepwise.rows).toEqual(whole.rows);
});

test("rows of unchanged items stay the same objects, and the pending request is found", () => {
  const fold = run(prompt("hi"), text("a"), ended(), prompt("more", "p2"));
  const before = [...fold.rows];
  extend(fold, text("b"), permission());
  expect(fold.rows.slice(0, before.length)).toEqual(before);
  fold.rows.slice(0, before.length).forEach((row, index) => expect(row).toBe(before[index]));
  expect(fold.rows[fold.pendingRow]).toMatchObject({ item: { kind: "request", state: "pending" } });
  extend(fold, ended("p2"));
  expect(fold.pendingRow).toBe(-1);
});

test("universal events come from the same fold, also for entries before the mapper was loaded", () => {
  const fold = run(prompt("hi"), text("a"));
  fold.attachMapper(new UniversalMapper("s"));
  expect(fold.mapUniversal()).toBe(false);
  extend(fold, ended());
  fold.mapUniversal();
  const types = fold.universalEvents.map((event) => event.type);
  expect(types).toContain("turn.started");
  expect(types.at(-1)).toBe("turn.ended");
});

test("a prompt opens a turn and its answer ends it", () => {
  expect(run(prompt("hi")).conversation.turns).toHaveLength(1);
  const log = run(prompt("hi"), ended());
  expect(log.conversation.turns).toHaveLength(0);
  expect(last(log)).toMatchObject({ kind: "turn-end", stopReason: "end_turn" });
});

test("a turn of another client, whose prompt was never seen, is shown to end", () => {
  expect(last(run(text("a"), ended("foreign", "cancelled")))).toMatchObject({
    kind: "turn-end",
    stopReason: "cancelled",
  });
});

test("updates of a tool call replace what they name", () => {
  const log = run(
    update({
      sessionUpdate: "tool_call",
      toolCallId: "t",
      title: "Read",
      kind: "read",
      rawInput: { path: "/x" },
    }),
    update({
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      status: "completed",
      content: [{ type: "content", content: { type: "text", text: "out" } }],
    }),
  );
  expect(log.conversation.items).toHaveLength(1);
  expect(last<ToolItem>(log)).toMatchObject({ title: "Read", status: "completed", rawInput: { path: "/x" } });
  expect(last<ToolItem>(log).content).toHaveLength(1);
});

test("terminal output beside the updates is collected", () => {
  const log = run(
    update({ sessionUpdate: "tool_call", toolCallId: "t", title: "run" }),
    update({
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      _meta: { terminal_output: { data: "a\r\n" } },
    }),
    update({
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      status: "completed",
      _meta: { terminal_exit: { exit_code: 3 } },
    }),
  );
  expect(last<ToolItem>(log).terminal).toEqual({ text: "a\n", exitCode: 3 });
});

test.each([
  ["a", "answered", "Allow once"],
  ["r", "rejected", "Reject"],
])("a permission answered with %s is %s", (optionId, state, words) => {
  const log = run(prompt("hi"), permission(), answer(7, { outcome: { outcome: "selected", optionId } }));
  expect(card(log)).toMatchObject({ state, answer: words });
});

test("a card turns stale when the agent goes on without our answer, and can still be answered", () => {
  const stale = run(prompt("hi"), permission(), text("went on"));
  expect(card(stale)).toMatchObject({ state: "stale" });
  expect(card(stale).closed).toBeFalsy();
  extend(stale, answer(7, { outcome: { outcome: "selected", optionId: "a" } }));
  expect(card(stale).state).toBe("answered");
});

test("the conversation knows the time of its ended turns", () => {
  const at = (time: number, message: LoggedMessage) => ({ ...message, time });
  const log = run(at(1000, prompt("hi")), at(1500, ended()), at(4000, prompt("again", "p2")));
  expect(log.conversation.turnsMs).toBe(500);
  extend(log, at(4250, ended("p2")));
  expect(log.conversation.turnsMs).toBe(750);
});

test("the end of a later turn leaves an earlier card as it is", () => {
  const log = run(prompt("hi"), permission(), ended());
  const before = card(log);
  extend(log, prompt("again", "p2"), text("went on"), ended("p2"));
  expect(card(log)).toBe(before);
});

test("a card turns stale when its tool call moves on", () => {
  const log = run(
    permission(),
    update({ sessionUpdate: "tool_call_update", toolCallId: "t", status: "in_progress" }),
  );
  expect(card(log).state).toBe("stale");
});

test("an update of another tool call leaves the card alone", () => {
  const log = run(
    permission(),
    update({ sessionUpdate: "tool_call_update", toolCallId: "other", status: "completed" }),
  );
  expect(card(log).state).toBe("pending");
});

test("the end of the turn and the end of the process close cards for good", () => {
  expect(card(run(prompt("hi"), permission(), ended()))).toMatchObject({ state: "stale", closed: true });
  const gone = run(
    prompt("hi"),
    permission(),
    message("agent", {
      jsonrpc: "2.0",
      method: "_adapter/agent_exited",
      params: { success: false, code: 3 },
    }),
  );
  expect(card(gone)).toMatchObject({ state: "stale", closed: true });
  expect(gone.conversation).toMatchObject({ turns: [], exited: { code: 3, success: false } });
});

test("ids that differ only in type are two requests", () => {
  const log = run(
    permission(7),
    permission("7"),
    answer("7", { outcome: { outcome: "selected", optionId: "a" } }),
  );
  const states = log.conversation.items.map((item) => (item.kind === "request" ? item.state : ""));
  expect(states).toEqual(["pending", "answered"]);
});

test("history that the agent repeats while loading is not shown twice", () => {
  const load = message("client", {
    jsonrpc: "2.0",
    id: "l",
    method: "session/load",
    params: { sessionId: "s" },
  });
  const loaded = message("agent", { jsonrpc: "2.0", id: "l", result: {} });
  const log = run(
    prompt("hi"),
    text("hello"),
    ended(),
    load,
    text("hello"),
    loaded,
    prompt("more", "p2"),
    text("new"),
  );
  const said = log.conversation.items.flatMap((item) => (item.kind === "message" ? [item.text] : []));
  expect(said).toEqual(["hi", "hello", "more", "new"]);
});

test("a replayed history in a prompt is not shown as the user's words", () => {
  const blocks = [
    { type: "text", text: "Previous session history is replayed below\n..." },
    { type: "text", text: "go on" },
  ];
  const log = run(
    message("client", {
      jsonrpc: "2.0",
      id: 1,
      method: "session/prompt",
      params: { sessionId: "s", prompt: blocks },
    }),
  );
  expect(log.conversation.items[0]).toMatchObject({ text: "go on" });
});

test("an echo of the prompt is not shown again", () => {
  const log = run(
    prompt("hello"),
    update({ sessionUpdate: "user_message_chunk", content: { type: "text", text: "hello" } }),
    text("hi"),
  );
  expect(kinds(log)).toEqual(["message", "message"]);
});

test("a gap is shown where it was received", () => {
  const gap: LoggedMessage = { ...message("agent", null), gap: { oldest: 5, newest: 9 } };
  expect(last(run(text("a"), gap))).toMatchObject({ kind: "gap", gap: { oldest: 5, newest: 9 } });
});

test("a plan is replaced within a turn and new in the next", () => {
  const plan = (status: string) =>
    update({ sessionUpdate: "plan", entries: [{ content: "x", priority: "high", status }] });
  expect(kinds(run(prompt("a"), plan("pending"), plan("completed")))).toEqual(["message", "plan"]);
  expect(kinds(run(prompt("a"), plan("pending"), ended(), prompt("b", "p2"), plan("pending")))).toEqual([
    "message",
    "plan",
    "turn-end",
    "message",
    "plan",
  ]);
});

test("a plan of ACP v2 is the same plan, and one without entries is shown as it is", () => {
  const entries = [{ content: "x", priority: "high", status: "completed" }];
  const plan = (fields: JsonObject) =>
    update({ sessionUpdate: "plan_update", plan: { planId: "p", ...fields } });
  const log = run(prompt("a"), plan({ type: "items", entries: [] }), plan({ type: "items", entries }));
  expect(kinds(log)).toEqual(["message", "plan"]);
  expect(last(log)).toMatchObject({ kind: "plan", entries });
  expect(last(run(plan({ type: "markdown", content: "first **this**" })))).toMatchObject({
    kind: "note",
    label: "Plan",
    detail: "first **this**",
  });
});

test("a notice has its severity, and a compaction its summary or its error", () => {
  const notice = (severity: string) =>
    update({ sessionUpdate: "notice", severity, title: "Near", description: "90 %" });
  for (const level of ["info", "warning", "error"])
    expect(last(run(notice(level)))).toMatchObject({ kind: "note", level, label: "Near", detail: "90 %" });
  expect(last(run(notice("_odd")))).toMatchObject({ level: "info" });
  const compaction = (fields: JsonObject) =>
    update({ sessionUpdate: "compaction_update", compactionId: "c", ...fields });
  const summary = [
    { type: "text", text: "We talked " },
    { type: "text", text: "about mocks." },
  ];
  expect(last(run(compaction({ status: "in_progress" })))).toMatchObject({
    level: "info",
    detail: "in_progress",
  });
  expect(last(run(compaction({ status: "completed", summary })))).toMatchObject({
    detail: "We talked about mocks.",
  });
  expect(last(run(compaction({ status: "failed", error: "too long" })))).toMatchObject({
    level: "warning",
    detail: "too long",
  });
});

test("a compaction is one note, whose summary grows by chunks", () => {
  const compaction = (fields: JsonObject) => update({ compactionId: "c", ...fields });
  const chunk = (text: string) =>
    compaction({ sessionUpdate: "compaction_summary_chunk", content: { type: "text", text } });
  const log = run(
    chunk("We talked "),
    chunk("about mocks."),
    compaction({ sessionUpdate: "compaction_update", status: "completed" }),
  );
  expect(log.conversation.items).toHaveLength(1);
  expect(last(log)).toMatchObject({ kind: "note", label: "compaction", detail: "We talked about mocks." });
  const cleared = compaction({ sessionUpdate: "compaction_update", status: "completed", summary: null });
  expect(last(run(chunk("x"), cleared))).toMatchObject({ detail: "completed" });
});

test("a deleted session, a logout and a cancelled request are told", () => {
  const answered = (id: number, method: string, params: JsonObject) => [
    message("client", { jsonrpc: "2.0", id, method, params }),
    message("agent", { jsonrpc: "2.0", id, result: {} }),
  ];
  const log = run(
    message("client", { jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 9 } }),
    ...answered(1, "logout", {}),
    ...answered(2, "session/delete", { sessionId: "s1" }),
  );
  expect(log.conversation.items.map((item) => item.kind === "note" && item.label)).toEqual([
    "Cancellation of a request",
    "The agent is logged out",
    "The agent has deleted the session",
  ]);
  expect(log.conversation.needsLogin).toBe(true);
});

test("what is no object, and unknown updates, become notes and break nothing", () => {
  const log = run(
    message("agent", [1, 2]),
    update({ sessionUpdate: "brand_new", x: 1 }),
    message("agent", { jsonrpc: "2.0", method: "_vendor/thing" }),
  );
  expect(kinds(log)).toEqual(["note", "note"]);
});

test("a change of mode or a plan between two chunks leaves the message whole", () => {
  const log = run(
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "one " } }),
    update({ sessionUpdate: "current_mode_update", currentModeId: "plan" }),
    update({ sessionUpdate: "plan", entries: [] }),
    update({ sessionUpdate: "agent_message_chunk", content: { type: "text", text: "answer" } }),
  );
  expect(kinds(log)).toEqual(["message", "note", "plan"]);
  expect(log.conversation.items[0]).toMatchObject({ text: "one answer" });
});

test("a permission request and its tool call complete each other", () => {
  const log = run(
    update({
      sessionUpdate: "tool_call",
      toolCallId: "t",
      title: "bash",
      kind: "execute",
      rawInput: { command: "touch x" },
    }),
    message("agent", {
      jsonrpc: "2.0",
      id: 1,
      method: "session/request_permission",
      params: { sessionId: "s", toolCall: { toolCallId: "t" }, options: [] },
    }),
  );
  expect(log.conversation.pendingRequests[0]?.request.title).toBe("bash: touch x");
  expect(log.conversation.pendingRequests[0]?.request.toolCall).toMatchObject({ kind: "execute" });
});

test("an answer that arrives after the end of the turn still counts", () => {
  const log = run(
    prompt("hi"),
    permission(),
    ended(),
    answer(7, { outcome: { outcome: "selected", optionId: "a" } }),
  );
  expect(card(log)).toMatchObject({ state: "answered", answer: "Allow once" });
});

function initialize(id = "i2"): LoggedMessage {
  return message("client", { jsonrpc: "2.0", id, method: "initialize", params: { protocolVersion: 1 } });
}

// clauses: inspector-01
test("a new process ends the turn, the request and the tools that the one before left open", () => {
  const call = update({ sessionUpdate: "tool_call", toolCallId: "t", title: "Write", status: "in_progress" });
  const log = run(prompt("go"), call, permission());
  expect(log.conversation.turns).toHaveLength(1);
  extend(log, initialize());
  expect(log.conversation.turns).toEqual([]);
  expect(log.conversation.pendingRequests).toEqual([]);
  expect(log.conversation.lastStop).toBe("interrupted");
  expect(log.conversation.items.find((item) => item.kind === "tool")).toMatchObject({
    status: "interrupted",
  });
});

test("an interrupted turn has no duration: when its process ended is not known", () => {
  const log = run(prompt("go"), text("half"));
  log.endRun();
  log.publish();
  expect(last(log)).toMatchObject({ kind: "turn-end", stopReason: "interrupted", durationMs: 0 });
});

test("the end of a run ends its turn, and the next prompt starts one", () => {
  const log = run(prompt("go"), text("half"));
  log.endRun();
  log.publish();
  expect(kinds(log)).toEqual(["message", "message", "turn-end"]);
  extend(log, initialize(), prompt("again", "p2"));
  expect(log.conversation.turns.map((turn) => turn.requestId)).toEqual(['"p2"']);
  extend(log, ended("p2"));
  expect(log.conversation).toMatchObject({ turns: [], endedTurns: 2, lastStop: "end_turn" });
});

// clauses: inspector-06
test("a permission shows the change that it asks for, and so does the card of its tool", () => {
  const diff = { type: "diff", path: "/a", oldText: "x", newText: "y" };
  const toolCall = { toolCallId: "t", title: "Edit", content: [diff], locations: [{ path: "/a", line: 3 }] };
  const request = message("agent", {
    jsonrpc: "2.0",
    id: 8,
    method: "session/request_permission",
    params: { sessionId: "s", toolCall, options: [{ optionId: "a", name: "Allow", kind: "allow_once" }] },
  });
  expect(card(run(prompt("go"), request)).request.toolCall).toMatchObject({
    content: [diff],
    locations: [{ path: "/a", line: 3 }],
  });
  const known = update({ sessionUpdate: "tool_call", toolCallId: "t", title: "Edit" });
  const tool = run(prompt("go"), known, request).conversation.items.find((item) => item.kind === "tool");
  expect(tool).toMatchObject({ content: [diff], locations: [{ path: "/a", line: 3 }] });
});

// clauses: inspector-30
test("tokens are summed over the turns, and each turn has its own", () => {
  const end = (id: string, totalTokens: number) =>
    message("agent", { jsonrpc: "2.0", id, result: { stopReason: "end_turn", usage: { totalTokens } } });
  const log = run(prompt("a"), end("p1", 500), prompt("b", "p2"), end("p2", 84));
  expect(log.conversation.usage.totalTokens).toBe(584);
  expect(last(log)).toMatchObject({ kind: "turn-end", tokens: 84 });
});

// clauses: inspector-31
test("an error of the agent has its code", () => {
  const error = { code: -32603, message: "Internal error" };
  const log = run(prompt("a"), message("agent", { jsonrpc: "2.0", id: "p1", error }));
  expect(last(log)).toMatchObject({ kind: "note", label: "Internal error (-32603)" });
});

// clauses: inspector-29
test("calls of a sub-agent are inside the call that started it", () => {
  const call = (toolCallId: string, parentToolUseId?: string) =>
    update({
      sessionUpdate: "tool_call",
      toolCallId,
      title: toolCallId,
      ...(parentToolUseId ? { _meta: { claudeCode: { parentToolUseId } } } : {}),
    });
  const log = run(prompt("a"), call("one"), call("two", "one"), call("three", "two"));
  expect(log.conversation.items.flatMap((item) => (item.kind === "tool" ? [item.depth] : []))).toEqual([
    0, 1, 2,
  ]);
});

test("ACP v2: a turn ends with the idle state, whole messages replace chunks, the echo of a prompt is one", () => {
  const whole = (kind: string, words: string, messageId: string) =>
    update({ sessionUpdate: kind, messageId, content: [{ type: "text", text: words }] });
  const accepted = message("agent", { jsonrpc: "2.0", id: "p1", result: { messageId: "m0" } });
  const fold = run(
    prompt("hello"),
    accepted,
    whole("user_message", "hello", "m0"),
    update({ sessionUpdate: "state_update", state: "running" }),
    text("A first dra", { messageId: "m1" }),
    whole("agent_message", "The final text.", "m1"),
    whole("agent_thought", "I think.", "m2"),
  );
  const { conversation } = fold;
  expect(conversation.turns).toHaveLength(1);
  expect(conversation.items.map((item) => ("text" in item ? item.text : item.kind))).toEqual([
    "hello",
    "The final text.",
    "I think.",
  ]);
  extend(fold, update({ sessionUpdate: "state_update", state: "idle", stopReason: "cancelled" }));
  const after = fold.conversation;
  expect(after.turns).toHaveLength(0);
  expect(after.items.at(-1)).toMatchObject({ kind: "turn-end", stopReason: "cancelled" });
});

test("ACP v2: output of a terminal and pieces of content belong to their tool call", () => {
  const chunk = (data: string) =>
    update({ sessionUpdate: "terminal_output_chunk", terminalId: "x", data: btoa(data) });
  const fold = run(
    prompt("run"),
    update({ sessionUpdate: "terminal_update", terminalId: "x", command: "echo" }),
    chunk("be"),
    update({
      sessionUpdate: "tool_call",
      toolCallId: "t",
      title: "Run",
      content: [{ type: "terminal", terminalId: "x" }],
    }),
    chunk("fore"),
    update({
      sessionUpdate: "tool_call_content_chunk",
      toolCallId: "t",
      content: { type: "content", content: { type: "text", text: "more" } },
    }),
    update({ sessionUpdate: "terminal_update", terminalId: "x", exitStatus: { exitCode: 3 } }),
  );
  const { items } = fold.conversation;
  const tool = items.at(-1) as ToolItem;
  expect(items).toHaveLength(2);
  expect(tool.terminal).toEqual({ text: "before", exitCode: 3 });
  expect(tool.content.map((one) => one.type)).toEqual(["terminal", "content"]);
});

test("ACP v2: a permission shows its subject, a patch its files, and an option has its id", () => {
  const patch = "diff --git /a /a\n@@ -1 +1 @@\n-a\n+b\ndiff --git /b /b\n@@ -0,0 +1 @@\n+c\n";
  const changes = [
    { operation: "modify", path: "/a" },
    { operation: "add", path: "/b" },
  ];
  const content = [{ type: "diff", changes, patch: { format: "git_patch", text: patch } }];
  const options = [{ optionId: "y", name: "Yes", kind: "allow_once" }];
  const permission = (id: number, title: string, subject: JsonObject) =>
    message("agent", {
      jsonrpc: "2.0",
      id,
      method: "session/request_permission",
      params: { sessionId: "s1", title, subject, options },
    });
  const { conversation } = run(
    prompt("edit"),
    update({ sessionUpdate: "tool_call_update", toolCallId: "t", title: "Edit", content }),
    permission(1, "May I edit?", { type: "tool_call", toolCall: { toolCallId: "t" } }),
    permission(2, "May I push?", { type: "command", command: "git push", cwd: "/w" }),
    update({ sessionUpdate: "config_option_update", configOptions: [{ configId: "model", name: "Model" }] }),
  );
  const tool = conversation.items.find((item) => item.kind === "tool") as ToolItem;
  expect(tool.title).toBe("Edit");
  expect(tool.content).toMatchObject([
    { path: "/a", patch: expect.stringContaining("+b") as string },
    { path: "/b", patch: expect.stringContaining("+c") as string },
  ]);
  const asked = conversation.items.flatMap((item) => (item.kind === "request" ? [item.request] : []));
  expect(asked.map((request) => [request.toolCallId, request.toolCall?.rawInput])).toEqual([
    ["t", undefined],
    [undefined, { command: "git push", cwd: "/w" }],
  ]);
  expect(asked.map((request) => request.title)).toEqual(["May I edit?", "May I push?"]);
  expect(conversation.configOptions.map((option) => option.id)).toEqual(["model"]);
});

test("ACP v2: the whole output of a terminal replaces its pieces, and a turn that fails says why", () => {
  const fold = run(
    prompt("run"),
    message("agent", { jsonrpc: "2.0", id: "p1", result: { messageId: "m0" } }),
    update({
      sessionUpdate: "tool_call_update",
      toolCallId: "t",
      content: [{ type: "terminal", terminalId: "x" }],
    }),
    update({ sessionUpdate: "terminal_output_chunk", terminalId: "x", data: btoa("one ") }),
    update({ sessionUpdate: "terminal_update", terminalId: "x", output: { data: btoa("one two") } }),
    update({
      sessionUpdate: "state_update",
      state: "idle",
      stopReason: "error",
      error: { message: "overloaded" },
    }),
  );
  const { items } = fold.conversation;
  expect((items.find((item) => item.kind === "tool") as ToolItem).terminal?.text).toBe("one two");
  expect(items.find((item) => item.kind === "note")).toMatchObject({ level: "error", label: "overloaded" });
});
