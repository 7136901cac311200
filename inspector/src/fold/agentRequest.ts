/** Requests of the agent that the user decides: permissions, questions and forms, read from the wire. */

import {
  asList,
  asObject,
  asText,
  jsonText,
  listAt,
  objectAt,
  textAt,
  type Json,
  type JsonObject,
} from "../json";

export interface Choice {
  value: string;
  label: string;
  description?: string;
  /** ACP's permission kind as sent: allow_once, allow_always, reject_once, reject_always. */
  kind?: string;
}

export interface Question {
  /** Name of the form field; empty for a single question. */
  name: string;
  /** What the card shows: title, else description, else name. */
  prompt: string;
  title?: string;
  description?: string;
  choices: Choice[];
  multiple: boolean;
  required: boolean;
  valueType: "string" | "number" | "integer" | "boolean" | "array";
}

export interface AgentRequest {
  kind: "permission" | "question" | "form";
  /** JSON-RPC id, as received. */
  id: Json;
  sessionId: string;
  title: string;
  toolCallId?: string;
  toolCall?: JsonObject;
  questions: Question[];
}

const PERMISSION = "session/request_permission";
const QUESTION = "_sandboxagent/session/request_question";
const FORM = "elicitation/create";
export const REQUEST_METHODS = [PERMISSION, QUESTION, FORM];

/** Undefined if the request is not one that the user decides. */
export function readAgentRequest(id: Json, method: string, params: JsonObject): AgentRequest | undefined {
  const sessionId = textAt(params, "sessionId") ?? "";
  if (method === PERMISSION) return permission(id, sessionId, params);
  if (method === QUESTION) return question(id, sessionId, params);
  if (method === FORM && (params.mode === undefined || params.mode === "form"))
    return form(id, sessionId, params);
  return undefined;
}

function permission(id: Json, sessionId: string, params: JsonObject): AgentRequest {
  const toolCall = asObject(params.toolCall);
  const toolCallId = textAt(toolCall, "toolCallId");
  const title = textAt(toolCall, "title") ?? textAt(toolCall, "kind") ?? toolCallId ?? "Permission";
  const choices = listAt(params, "options").map(asObject).flatMap(permissionChoice);
  return {
    kind: "permission",
    id,
    sessionId,
    title,
    toolCallId,
    toolCall,
    questions: [only(title, choices)],
  };
}

function permissionChoice(option: JsonObject): Choice[] {
  const value = asText(option.optionId);
  return value
    ? [{ value, label: asText(option.name) ?? value, kind: asText(option.kind) ?? undefined }]
    : [];
}

const PERMISSION_KINDS = ["allow_once", "allow_always", "reject_once", "reject_always"];

/** The kind of a permission option; some agents leave it out and use the kind as the option's id. */
export function permissionKind(choice: Choice): string | undefined {
  return choice.kind ?? (PERMISSION_KINDS.includes(choice.value) ? choice.value : undefined);
}

export function rejectChoice(request: AgentRequest): Choice | undefined {
  const choices = request.questions[0]?.choices ?? [];
  const byKind = (kind: string) => choices.find((choice) => permissionKind(choice) === kind);
  return byKind("reject_once") ?? byKind("reject_always");
}

function question(id: Json, sessionId: string, params: JsonObject): AgentRequest {
  const title = textAt(params, "prompt") ?? "The agent asks";
  const choices = listAt(params, "options").flatMap(questionChoice);
  const asked = { ...only(title, choices), multiple: params.multiSelect === true };
  return { kind: "question", id, sessionId, title, questions: [asked] };
}

function only(prompt: string, choices: Choice[]): Question {
  return { name: "", prompt, choices, multiple: false, required: true, valueType: "string" };
}

/** Options are sent as texts, as pairs of value and label, or as objects. */
function questionChoice(option: Json): Choice[] {
  if (typeof option === "string") return [{ value: option, label: option }];
  if (Array.isArray(option)) {
    const [value, label = value] = option;
    return typeof value === "string" ? [{ value, label: typeof label === "string" ? label : value }] : [];
  }
  const fields = asObject(option);
  const value = asText(fields.value) ?? asText(fields.id) ?? asText(fields.label);
  if (value === null) return [];
  return [{ value, label: textAt(fields, "label") ?? value, description: textAt(fields, "description") }];
}

function form(id: Json, sessionId: string, params: JsonObject): AgentRequest {
  const title = textAt(params, "message") ?? "The agent asks";
  const schema = objectAt(params, "requestedSchema");
  const required = listAt(schema, "required");
  const questions = Object.entries(objectAt(schema, "properties") ?? {}).map(([name, property]) =>
    formQuestion(name, asObject(property), required.includes(name)),
  );
  return { kind: "form", id, sessionId, title, toolCallId: textAt(params, "toolCallId"), questions };
}

function formQuestion(name: string, property: JsonObject, required: boolean): Question {
  const type = textAt(property, "type") ?? "string";
  const title = asText(property.title) ?? undefined;
  const description = asText(property.description) ?? undefined;
  const base = { name, title, description, prompt: title ?? description ?? name, required };
  if (type === "boolean") {
    const choices = [
      { value: "true", label: "Yes" },
      { value: "false", label: "No" },
    ];
    return { ...base, choices, multiple: false, valueType: "boolean" };
  }
  if (type === "array") {
    const choices = schemaChoices(asObject(property.items));
    return { ...base, choices, multiple: true, valueType: "array" };
  }
  const valueType = type === "number" || type === "integer" ? type : "string";
  return { ...base, choices: schemaChoices(property), multiple: false, valueType };
}

function schemaChoices(schema: JsonObject): Choice[] {
  const oneOf = asList(schema.oneOf);
  const titled = oneOf.length > 0 ? oneOf : asList(schema.anyOf);
  const options = titled.length > 0 ? titled : asList(schema.enum).map((value) => ({ const: value }));
  return options.map(asObject).flatMap((option) => {
    const value = answerText(option.const);
    if (value === null) return [];
    return [{ value, label: textAt(option, "title") ?? value, description: textAt(option, "description") }];
  });
}

/** A value as the text of an answer: the first one of a list, JSON text for anything that is not a string. */
export function answerText(value: Json | undefined): string | null {
  const first = Array.isArray(value) ? value[0] : value;
  if (first === undefined || first === null) return null;
  return typeof first === "string" ? first : jsonText(first);
}
