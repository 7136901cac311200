/** JSON-RPC results that answer a request of the agent: building them, and reading what they decided. */

import { asObject, listAt, plainText, productMeta, textAt, type Json, type JsonObject } from "../json";
import { permissionKind, rejectChoice, type AgentRequest, type Question } from "./agentRequest";

/** One list of selections per question. */
export type Answers = string[][];

export function answerResult(request: AgentRequest, answers: Answers): JsonObject {
  if (request.kind === "permission") {
    return { outcome: { outcome: "selected", optionId: answers[0]?.[0] ?? "" } };
  }
  if (request.kind === "question") {
    const meta = { "sandboxagent.dev": { outcome: "answered", answers } };
    return { status: "answered", answers, _meta: meta };
  }
  const content: JsonObject = {};
  request.questions.forEach((asked, index) => {
    const given = answers[index] ?? [];
    if (given.length > 0 || asked.required) content[asked.name] = typedValue(asked, given);
  });
  return { action: "accept", content };
}

function typedValue(asked: Question, given: string[]): Json {
  if (asked.valueType === "array") return given;
  const value = given[0] ?? "";
  if (asked.valueType === "boolean") return value === "true";
  if (asked.valueType === "integer") return Number.parseInt(value, 10);
  return asked.valueType === "number" ? Number(value) : value;
}

/** A permission is rejected with its reject option if it has one. */
export function rejectResult(request: AgentRequest): JsonObject {
  if (request.kind === "question") {
    return { status: "rejected", _meta: { "sandboxagent.dev": { outcome: "rejected" } } };
  }
  if (request.kind === "form") return { action: "decline" };
  const reject = rejectChoice(request);
  return { outcome: reject ? { outcome: "selected", optionId: reject.value } : { outcome: "cancelled" } };
}

/** The result for a request whose turn was stopped. */
export function cancelResult(request: AgentRequest): JsonObject {
  if (request.kind === "permission") return { outcome: { outcome: "cancelled" } };
  return request.kind === "form" ? { action: "cancel" } : rejectResult(request);
}

export interface Outcome {
  accepted: boolean;
  /** One value per question: the option's id, the selections, the value of the field. */
  values: (Json | undefined)[];
}

export function readOutcome(request: AgentRequest, result: JsonObject): Outcome {
  if (request.kind === "permission") {
    const outcome = asObject(result.outcome);
    const optionId = outcome.outcome === "selected" ? textAt(outcome, "optionId") : undefined;
    const choice = request.questions[0]?.choices.find((one) => one.value === optionId);
    const rejected = choice !== undefined && permissionKind(choice)?.startsWith("reject");
    return { accepted: optionId !== undefined && !rejected, values: [optionId] };
  }
  if (request.kind === "form") {
    const content = asObject(result.content);
    return {
      accepted: result.action === "accept",
      values: request.questions.map((one) => content[one.name]),
    };
  }
  const meta = productMeta(result);
  const status = result.status || result.outcome || meta.outcome;
  const own = listAt(result, "answers");
  const answers = own.length > 0 ? own : listAt(meta, "answers");
  return { accepted: status === "answered", values: [Array.isArray(answers[0]) ? answers[0] : answers] };
}

/** What an outcome decided, as the card shows it. */
export function outcomeText(request: AgentRequest, outcome: Outcome): string | undefined {
  const [value] = outcome.values;
  if (request.kind === "permission") return value === undefined ? "Cancelled" : labelOf(request, value);
  if (!outcome.accepted) return undefined;
  if (request.kind === "question") return listed(value, (one) => labelOf(request, one));
  const fields = request.questions.map((asked, index) => ({
    name: asked.name,
    value: outcome.values[index],
  }));
  return fields
    .filter((field) => field.value !== undefined)
    .map((field) => `${field.name}: ${listed(field.value, plainText)}`)
    .join(", ");
}

function listed(value: Json | undefined, show: (one: Json) => string): string {
  return (Array.isArray(value) ? value : [value ?? null]).map(show).join(", ");
}

function labelOf(request: AgentRequest, value: Json): string {
  const text = plainText(value);
  return request.questions[0]?.choices.find((one) => one.value === text)?.label ?? text;
}
