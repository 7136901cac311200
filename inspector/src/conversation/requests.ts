/**
 * Requests of the agent that a person answers: permissions, questions and forms. Reads them off the wire
 * and builds the answers, in the shapes the agents expect.
 */

import { isObject, listAt, objectAt, productMeta, textAt, type Json, type JsonObject } from "../json";

export type RequestState = "pending" | "answered" | "rejected" | "stale";

export interface Choice {
  value: string;
  label: string;
  description?: string;
  /** ACP's permission kind: allow_once, allow_always, reject_once, reject_always. */
  kind?: string;
}

export interface Question {
  /** Name of the form field; empty for a single question. */
  name: string;
  prompt: string;
  choices: Choice[];
  multiple: boolean;
  required: boolean;
  valueType: "string" | "number" | "integer" | "boolean" | "array";
}

export interface AgentRequest {
  kind: "permission" | "question" | "form";
  /** JSON-RPC id, as it came. */
  id: Json;
  sessionId: string;
  title: string;
  toolCallId?: string;
  toolCall?: JsonObject;
  questions: Question[];
}

export type Answers = string[][];

const QUESTION = "_sandboxagent/session/request_question";

/** Undefined if the message is no request that a person answers here. */
export function readRequest(message: JsonObject): AgentRequest | undefined {
  const params = message.params;
  if (message.id === undefined || !isObject(params)) return undefined;
  const id = message.id;
  const sessionId = textAt(params, "sessionId") ?? "";
  if (message.method === "session/request_permission") return permission(id, sessionId, params);
  if (message.method === QUESTION) return question(id, sessionId, params);
  if (message.method === "elicitation/create" && params.mode === "form") return form(id, sessionId, params);
  return undefined;
}

function permission(id: Json, sessionId: string, params: JsonObject): AgentRequest {
  const toolCall = objectAt(params, "toolCall") ?? {};
  const toolCallId = textAt(toolCall, "toolCallId");
  const title = textAt(toolCall, "title") ?? textAt(toolCall, "kind") ?? toolCallId ?? "Permission";
  const choices = listAt(params, "options")
    .filter(isObject)
    .map((option) => {
      const value = textAt(option, "optionId") ?? "";
      return { value, label: textAt(option, "name") ?? value, kind: kindOf(option, value) };
    });
  const only = {
    name: "",
    prompt: title,
    choices,
    multiple: false,
    required: true,
    valueType: "string",
  } as const;
  return { kind: "permission", id, sessionId, title, toolCallId, toolCall, questions: [only] };
}

const PERMISSION_KINDS = ["allow_once", "allow_always", "reject_once", "reject_always"];

function kindOf(option: JsonObject, optionId: string): string | undefined {
  const kind = textAt(option, "kind");
  return kind ?? (PERMISSION_KINDS.includes(optionId) ? optionId : undefined);
}

function question(id: Json, sessionId: string, params: JsonObject): AgentRequest {
  const prompt = textAt(params, "prompt") ?? "The agent asks";
  const only: Question = {
    name: "",
    prompt,
    choices: listAt(params, "options").flatMap(choice),
    multiple: params.multiSelect === true,
    required: true,
    valueType: "string",
  };
  return { kind: "question", id, sessionId, title: prompt, questions: [only] };
}

function choice(option: Json): Choice[] {
  if (typeof option === "string") return [{ value: option, label: option }];
  if (Array.isArray(option)) return [{ value: String(option[0]), label: String(option[1] ?? option[0]) }];
  if (!isObject(option)) return [];
  const value = textAt(option, "value") ?? textAt(option, "id") ?? textAt(option, "label") ?? "";
  return [{ value, label: textAt(option, "label") ?? value, description: textAt(option, "description") }];
}

function form(id: Json, sessionId: string, params: JsonObject): AgentRequest {
  const title = textAt(params, "message") ?? "The agent asks";
  const schema = objectAt(params, "requestedSchema");
  const required = listAt(schema, "required");
  const questions = Object.entries(objectAt(schema, "properties") ?? {}).flatMap(([name, property]) =>
    isObject(property) ? [field(name, property, required.includes(name))] : [],
  );
  return { kind: "form", id, sessionId, title, toolCallId: textAt(params, "toolCallId"), questions };
}

function field(name: string, property: JsonObject, required: boolean): Question {
  const type = textAt(property, "type") ?? "string";
  const prompt = textAt(property, "title") ?? textAt(property, "description") ?? name;
  const base = { name, prompt, required };
  if (type === "boolean") {
    const choices = [
      { value: "true", label: "Yes" },
      { value: "false", label: "No" },
    ];
    return { ...base, choices, multiple: false, valueType: "boolean" };
  }
  if (type === "array") {
    return {
      ...base,
      choices: schemaChoices(objectAt(property, "items")),
      multiple: true,
      valueType: "array",
    };
  }
  const valueType = type === "number" || type === "integer" ? type : "string";
  return { ...base, choices: schemaChoices(property), multiple: false, valueType };
}

function schemaChoices(schema: JsonObject | undefined): Choice[] {
  const named = [...listAt(schema, "oneOf"), ...listAt(schema, "anyOf")].filter(isObject).map((option) => {
    const value = String(option.const ?? "");
    return { value, label: textAt(option, "title") ?? value, description: textAt(option, "description") };
  });
  return named.length > 0
    ? named
    : listAt(schema, "enum").map((value) => ({ value: String(value), label: String(value) }));
}

/** The JSON-RPC result that says `answers`: one list of selections per question. */
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
    if (given.length > 0 || asked.required) content[asked.name] = typed(asked, given);
  });
  return { action: "accept", content };
}

function typed(asked: Question, given: string[]): Json {
  if (asked.valueType === "array") return given;
  const value = given[0] ?? "";
  if (asked.valueType === "boolean") return value === "true";
  if (asked.valueType === "integer") return Number.parseInt(value, 10);
  return asked.valueType === "number" ? Number(value) : value;
}

/** The JSON-RPC result that says no. A permission takes its reject option if it has one. */
export function rejectResult(request: AgentRequest): JsonObject {
  if (request.kind === "question") {
    return { status: "rejected", _meta: { "sandboxagent.dev": { outcome: "rejected" } } };
  }
  if (request.kind === "form") return { action: "decline" };
  const reject = rejectChoice(request);
  return { outcome: reject ? { outcome: "selected", optionId: reject.value } : { outcome: "cancelled" } };
}

export function rejectChoice(request: AgentRequest): Choice | undefined {
  const choices = request.questions[0]?.choices ?? [];
  return (
    choices.find((one) => one.kind === "reject_once") ?? choices.find((one) => one.kind === "reject_always")
  );
}

/** The JSON-RPC result for a turn that was stopped. */
export function cancelResult(request: AgentRequest): JsonObject {
  if (request.kind === "permission") return { outcome: { outcome: "cancelled" } };
  return request.kind === "form" ? { action: "cancel" } : rejectResult(request);
}

/** What a stored or seen reply says, in the words of the card. */
export function readReply(
  request: AgentRequest,
  reply: JsonObject,
): { state: RequestState; answer?: string } {
  const result = reply.result;
  if (!isObject(result)) return { state: "rejected" };
  if (request.kind === "permission") return permissionReply(request, result);
  if (request.kind === "form") {
    if (result.action !== "accept") return { state: "rejected" };
    const content = Object.entries(objectAt(result, "content") ?? {});
    return {
      state: "answered",
      answer: content.map(([name, value]) => `${name}: ${shown(value)}`).join(", "),
    };
  }
  const mirror = productMeta(result);
  if ((textAt(result, "status") ?? textAt(mirror, "outcome")) !== "answered") return { state: "rejected" };
  const answers = listAt(result, "answers").length ? listAt(result, "answers") : listAt(mirror, "answers");
  const first = Array.isArray(answers[0]) ? answers[0] : answers;
  const labels = first.map((value) => labelOf(request, String(value)));
  return { state: "answered", answer: labels.join(", ") };
}

function permissionReply(
  request: AgentRequest,
  result: JsonObject,
): { state: RequestState; answer?: string } {
  const outcome = objectAt(result, "outcome");
  if (textAt(outcome, "outcome") !== "selected") return { state: "rejected", answer: "Cancelled" };
  const optionId = textAt(outcome, "optionId") ?? "";
  const taken = request.questions[0]?.choices.find((one) => one.value === optionId);
  const state = taken?.kind?.startsWith("reject") ? "rejected" : "answered";
  return { state, answer: taken?.label ?? optionId };
}

function labelOf(request: AgentRequest, value: string): string {
  return request.questions[0]?.choices.find((one) => one.value === value)?.label ?? value;
}

function shown(value: Json | undefined): string {
  return Array.isArray(value) ? value.map(String).join(", ") : String(value);
}
