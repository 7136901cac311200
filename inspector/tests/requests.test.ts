/** Requests of the agent and the answers to them. */

import { expect, test } from "vitest";
import type { AgentRequest } from "../src/fold/agentRequest";
import { MessageReader } from "../src/fold/messageReader";
import {
  answerResult,
  cancelResult,
  outcomeText,
  readOutcome,
  rejectResult,
} from "../src/fold/requestResult";
import type { JsonObject } from "../src/json";

function readRequest(payload: JsonObject): AgentRequest | undefined {
  const reading = new MessageReader().read({ sender: "agent", payload });
  return reading.kind === "call" ? reading.request : undefined;
}

function readReply(request: AgentRequest, { result }: { result: JsonObject }) {
  const outcome = readOutcome(request, result);
  return { state: outcome.accepted ? "answered" : "rejected", answer: outcomeText(request, outcome) };
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
  expect(result).toEqual({
    status: "answered",
    answers: [["a"]],
    _meta: { "sandboxagent.dev": { outcome: "answered", answers: [["a"]] } },
  });
  expect(readReply(request, { result })).toEqual({ state: "answered", answer: "A" });
});

test("a rejected question says so in both places", () => {
  const request = readRequest(question({}))!;
  expect(rejectResult(request)).toEqual({
    status: "rejected",
    _meta: { "sandboxagent.dev": { outcome: "rejected" } },
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

test("other requests, and elicitations that are not forms, are not for the user", () => {
  expect(readRequest({ id: 1, method: "fs/read_text_file", params: {} })).toBeUndefined();
  expect(readRequest({ id: 1, method: "elicitation/create", params: { mode: "url" } })).toBeUndefined();
});
