/** JSON-RPC results that answer a request of the agent: building them, and reading what they decided. */

import {
  asObject,
  isObject,
  listAt,
  plainText,
  productMeta,
  textAt,
  type Json,
  type JsonObject,
} from "../json";
import { permissionKind, rejectChoice, type AgentRequest, type Question } from "./agentRequest";

/** One list of selections per question. */
export type Answers = string[][];

/** The option of Codex for an answer that is in the field beside the question. */
const NO_OPTION = "None of the above";

export function answerResult(request: AgentRequest, answers: Answers): JsonObject {
  if (request.kind === "permission") {
    return { outcome: { outcome: "selected", optionId: answers[0]?.[0] ?? "" } };
  }
  if (request.kind === "question") return { status: "answered", answers };
  if (request.kind === "form") {
    const content: JsonObject = {};
    request.questions.forEach((asked, index) =>
      Object.assign(content, fieldValues(asked, answers[index] ?? [])),
    );
    return { action: "accept", content };
  }
  const given: JsonObject = {};
  request.questions.forEach((asked, index) => {
    if (answers[index]?.length) given[asked.name] = answers[index].join(", ");
  });
  return { ...submitted(request), answers: given };
}

/** The outcome that goes with the answers to an agent's own kind of questions. */
function submitted(request: AgentRequest): JsonObject {
  if (request.kind === "grok") return { outcome: "accepted" };
  const allow = request.submit?.find((choice) => permissionKind(choice) === "allow_once");
  return { outcome: { outcome: "selected", optionId: allow?.value ?? "proceed_once" } };
}

/** The fields of a form that one answer fills: the choices, and the field for free text beside them. */
function fieldValues(asked: Question, given: string[]): JsonObject {
  if (asked.otherName === undefined || asked.choices.length === 0) {
    return given.length > 0 || asked.required ? { [asked.name]: typedValue(asked, given) } : {};
  }
  const offered = asked.choices.map((choice) => choice.value);
  let chosen = given.filter((value) => offered.includes(value));
  const other = given.filter((value) => !offered.includes(value));
  if (other.length > 0 && chosen.length === 0 && asked.required && offered.includes(NO_OPTION)) {
    chosen = [NO_OPTION];
  }
  return {
    ...(chosen.length > 0 ? { [asked.name]: typedValue(asked, chosen) } : {}),
    ...(other.length > 0 ? { [asked.otherName]: other.join(", ") } : {}),
  };
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
  if (request.kind === "question") return { status: "rejected" };
  if (request.kind === "form") return { action: "decline" };
  if (request.kind === "grok") return { outcome: "cancelled" };
  const reject = rejectChoice(request);
  return { outcome: reject ? { outcome: "selected", optionId: reject.value } : { outcome: "cancelled" } };
}

/** The result for a request whose turn was stopped. */
export function cancelResult(request: AgentRequest): JsonObject {
  if (request.kind === "permission" || request.kind === "qwen") return { outcome: { outcome: "cancelled" } };
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
    const valueOf = ({ name, otherName }: Question) => {
      const [chosen, other] = [content[name], otherName === undefined ? undefined : content[otherName]];
      return other && (chosen === undefined || chosen === NO_OPTION) ? other : chosen;
    };
    return { accepted: result.action === "accept", values: request.questions.map(valueOf) };
  }
  if (request.kind === "qwen" || request.kind === "grok") {
    const given = asObject(result.answers);
    return { accepted: isObject(result.answers), values: request.questions.map((one) => given[one.name]) };
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
  const answers = outcome.values.filter((one) => one !== undefined).map((one) => listed(one, plainText));
  if (request.questions.length === 1) return answers[0];
  const names = request.questions.map((asked) => (request.kind === "form" ? asked.name : asked.prompt));
  return outcome.values
    .map((one, index) => (one === undefined ? "" : `${names[index]}: ${listed(one, plainText)}`))
    .filter((line) => line !== "")
    .join(", ");
}

function listed(value: Json | undefined, show: (one: Json) => string): string {
  return (Array.isArray(value) ? value : [value ?? null]).map(show).join(", ");
}

function labelOf(request: AgentRequest, value: Json): string {
  const text = plainText(value);
  return request.questions[0]?.choices.find((one) => one.value === text)?.label ?? text;
}
