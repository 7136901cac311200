/** Requests of the agent and the answers to them. */

import { expect, test } from "vitest";
import type { AgentRequest } from "../../src/fold/agentRequest";
import { MessageReader } from "../../src/fold/messageReader";
import { withAnswerMeta } from "../../src/fold/answerMeta";
import {
  answerResult,
  cancelResult,
  outcomeText,
  readOutcome,
  rejectResult,
} from "../../src/fold/requestResult";
import type { JsonObject } from "../../src/json";

function readRequest(payload: JsonObject): AgentRequest | undefined {
  const reading = new MessageReader().read({ sender: "agent", payload });
  return reading.kind === "call" ? reading.request : undefined;
}

function readReply(request: AgentRequest, { result }: { result: JsonObject }) {
  const outcome = readOutcome(request, result);
  return { state: outcome.accepted ? "answered" : "rejected", answer: outcomeText(request, outcome) };
}

function asked(...questions: string[]) {
  return { permission: undefined, questions };
}

function question(more: JsonObject): JsonObject {
  return {
    jsonrpc: "2.0",
    id: "q",
    method: "_sandboxagent/session/request_question",
    params: { sessionId: "s", prompt: "Which?", ...more },
  };
}

const form: JsonObject = {
  jsonrpc: "2.0",
  id: 3,
  method: "elicitation/create",
  params: {
    mode: "form",
    sessionId: "s",
    message: "Some facts",
    requestedSchema: {
      type: "object",
      required: ["colour", "count"],
      properties: {
        colour: { type: "string", oneOf: [{ const: "red", title: "Red" }] },
        tags: {
          type: "array",
          items: {
            anyOf: [
              { const: "a", title: "A" },
              { const: "b", title: "B" },
            ],
          },
        },
        count: { type: "integer" },
        fast: { type: "boolean" },
      },
    },
  },
};

test.each([
  [[["a", "Option A"]], { value: "a", label: "Option A" }],
  [["a"], { value: "a", label: "a" }],
  [[{ id: "a", label: "Option A", description: "d" }], { value: "a", label: "Option A", description: "d" }],
])("options may be pairs, texts or objects", (options, expected) => {
  expect(readRequest(question({ options }))!.questions[0]!.choices[0]).toMatchObject(expected);
});

test("an answered question carries the answers and mirrors them", () => {
  const request = readRequest(question({ options: [["a", "A"]] }))!;
  const result = answerResult(request, [["a"]]);
  expect(withAnswerMeta(request, result, asked("q1"))).toEqual({
    status: "answered",
    answers: [["a"]],
    _meta: {
      "sandboxagent.dev": {
        outcome: "answered",
        answers: [["a"]],
        question: { questionId: "q1", response: "a", status: "answered" },
      },
    },
  });
  expect(readReply(request, { result })).toEqual({ state: "answered", answer: "A" });
});

test("a rejected question says so in both places", () => {
  const request = readRequest(question({}))!;
  expect(withAnswerMeta(request, rejectResult(request), asked("q1"))).toEqual({
    status: "rejected",
    _meta: {
      "sandboxagent.dev": {
        outcome: "rejected",
        question: { questionId: "q1", response: null, status: "rejected" },
      },
    },
  });
  expect(readReply(request, { result: rejectResult(request) }).state).toBe("rejected");
});

test("the older shape of a reply is understood", () => {
  const request = readRequest(question({ options: ["a"] }))!;
  const result = { _meta: { "sandboxagent.dev": { outcome: "answered", answers: [["a"]] } } };
  expect(readReply(request, { result })).toEqual({ state: "answered", answer: "a" });
});

test("a form has one question a field and is answered with typed values", () => {
  const request = readRequest(form)!;
  expect(request.questions.map((one) => [one.name, one.multiple, one.required, one.valueType])).toEqual([
    ["colour", false, true, "string"],
    ["tags", true, false, "array"],
    ["count", false, true, "integer"],
    ["fast", false, false, "boolean"],
  ]);
  expect(answerResult(request, [["red"], ["a", "b"], ["4"], ["true"]])).toEqual({
    action: "accept",
    content: { colour: "red", tags: ["a", "b"], count: 4, fast: true },
  });
  expect(answerResult(request, [["red"], [], ["4"], []])).toEqual({
    action: "accept",
    content: { colour: "red", count: 4 },
  });
  expect(rejectResult(request)).toEqual({ action: "decline" });
  expect(cancelResult(request)).toEqual({ action: "cancel" });
});

test("a permission is rejected with its reject option, and cancelled if it has none", () => {
  const ask = (options: JsonObject[]) =>
    readRequest({
      id: 1,
      method: "session/request_permission",
      params: { sessionId: "s", toolCall: {}, options },
    })!;
  const once = { optionId: "n", name: "No", kind: "reject_once" };
  const always = { optionId: "never", name: "Never", kind: "reject_always" };
  expect(rejectResult(ask([always, once]))).toEqual({ outcome: { outcome: "selected", optionId: "n" } });
  expect(rejectResult(ask([always]))).toEqual({ outcome: { outcome: "selected", optionId: "never" } });
  expect(rejectResult(ask([]))).toEqual({ outcome: { outcome: "cancelled" } });
});

test("the answer to a permission says in its _meta what it means", () => {
  const option = (optionId: string, kind: string) => ({ optionId, name: optionId, kind });
  const options = [option("y", "allow_once"), option("all", "allow_always"), option("n", "reject_once")];
  const params = { sessionId: "s", toolCall: {}, options };
  const request = readRequest({ id: 1, method: "session/request_permission", params })!;
  const meta = (result: JsonObject) =>
    withAnswerMeta(request, result, { permission: "perm_1", questions: [] })._meta;
  const expected = (optionId: string | null, status: string) => ({
    "sandboxagent.dev": { permission: { permissionId: "perm_1", optionId, status } },
  });
  expect(meta(answerResult(request, [["y"]]))).toEqual(expected("y", "accept"));
  expect(meta(answerResult(request, [["all"]]))).toEqual(expected("all", "accept_for_session"));
  expect(meta(rejectResult(request))).toEqual(expected("n", "reject"));
  expect(meta(cancelResult(request))).toEqual(expected(null, "reject"));
});

test("an answer outside the options goes to the field beside the question", () => {
  const claude = readRequest({
    id: 4,
    method: "elicitation/create",
    params: {
      message: "Which colour?",
      requestedSchema: {
        properties: {
          question_0: { type: "string", title: "Choice", oneOf: [{ const: "Red" }] },
          question_0_custom: { type: "string", title: "Other" },
        },
      },
    },
  })!;
  expect(claude.questions.map(({ prompt, heading }) => [prompt, heading])).toEqual([["Which colour?", ""]]);
  expect(answerResult(claude, [["Green"]])).toEqual({
    action: "accept",
    content: { question_0_custom: "Green" },
  });
  const result = answerResult(claude, [["Green"]]);
  expect(withAnswerMeta(claude, result, asked("quest_1"))._meta).toEqual({
    "sandboxagent.dev": { question: { questionId: "quest_1", response: "Green", status: "answered" } },
  });
});

test("questions of Qwen Code and Grok are answered in their own way", () => {
  const questions = [{ question: "Which?", options: [{ label: "A" }, { label: "B" }], multiSelect: true }];
  const toolCall = {
    title: "Ask",
    _meta: { qwenInteractionKind: "user_question", qwenQuestions: questions },
  };
  const options = [{ optionId: "go", name: "Submit", kind: "allow_once" }];
  const params = { sessionId: "s", toolCall, options };
  const qwen = readRequest({ id: 1, method: "session/request_permission", params })!;
  expect(answerResult(qwen, [["A", "B"]])).toEqual({
    outcome: { outcome: "selected", optionId: "go" },
    answers: { "0": "A, B" },
  });
  const grok = readRequest({ id: 2, method: "_x.ai/ask_user_question", params: { questions } })!;
  expect(answerResult(grok, [["A"]])).toEqual({ outcome: "accepted", answers: { "Which?": "A" } });
  expect(rejectResult(grok)).toEqual({ outcome: "cancelled" });
});

test("other requests, and elicitations that are not forms, are not for the user", () => {
  expect(readRequest({ id: 1, method: "fs/read_text_file", params: {} })).toBeUndefined();
  expect(readRequest({ id: 1, method: "elicitation/create", params: { mode: "url" } })).toBeUndefined();
});
