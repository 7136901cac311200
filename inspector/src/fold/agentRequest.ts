/** Requests of the agent that the user decides: permissions, questions and forms, read from the wire. */

import { readForm } from "./form";
import { asList, asObject, asText, jsonText, listAt, textAt, type Json, type JsonObject } from "../json";

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
  /** The whole question. */
  prompt: string;
  /** What the card shows above the field; empty if the title of the request is the question. */
  heading: string;
  choices: Choice[];
  multiple: boolean;
  required: boolean;
  /** An answer outside the choices is allowed. */
  allowOther: boolean;
  /** The form field for such an answer, if it has one of its own. */
  otherName?: string;
  valueType: "string" | "number" | "integer" | "boolean" | "array";
  /** What the field is for, if the heading does not say it. */
  description?: string;
  /** Values that are given unless the user changes them. */
  defaults?: string[];
  /** The constraints of the form's schema. */
  limits?: FieldLimits;
}

export interface FieldLimits {
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  format?: string;
}

export interface AgentRequest {
  /** How the answer is written: that of a permission, a question, a form, or an agent's own kind of questions. */
  kind: "permission" | "question" | "form" | "qwen" | "grok";
  /** JSON-RPC id, as received. */
  id: Json;
  sessionId: string;
  title: string;
  /** The words of the request itself, which ACP v2 has beside the title of the tool call. */
  asked?: string;
  toolCallId?: string;
  toolCall?: JsonObject;
  /** The tool call has a card of its own, which shows what became of it. */
  hasToolCard?: boolean;
  questions: Question[];
  /** The options behind questions that came as a permission request. */
  submit?: Choice[];
}

const PERMISSION = "session/request_permission";
const QUESTION = "_sandboxagent/session/request_question";
const FORM = "elicitation/create";
const GROK_QUESTIONS = ["_x.ai/ask_user_question", "x.ai/ask_user_question"];
export const REQUEST_METHODS = [PERMISSION, QUESTION, FORM, ...GROK_QUESTIONS];

/** Undefined if the request is not one that the user decides. */
export function readAgentRequest(id: Json, method: string, params: JsonObject): AgentRequest | undefined {
  const sessionId = textAt(params, "sessionId") ?? "";
  if (method === PERMISSION) return qwenQuestions(id, sessionId, params) ?? permission(id, sessionId, params);
  if (GROK_QUESTIONS.includes(method)) return grokQuestions(id, sessionId, params);
  if (method === QUESTION) return question(id, sessionId, params);
  if (method === FORM && (params.mode === undefined || params.mode === "form"))
    return { kind: "form", id, sessionId, ...readForm(params) };
  if (method === FORM && params.mode === "url" && textAt(params, "url") && textAt(params, "message"))
    return { kind: "form", id, sessionId, title: pagePrompt(params), questions: [] };
  return undefined;
}

/** What the user reads who is sent to a page. */
function pagePrompt(params: JsonObject): string {
  return `${textAt(params, "message")}\n${textAt(params, "url")}`;
}

function permission(id: Json, sessionId: string, params: JsonObject): AgentRequest {
  const toolCall = asObject(params.toolCall);
  const toolCallId = textAt(toolCall, "toolCallId");
  const asked = textAt(params, "title");
  const title = asked ?? textAt(toolCall, "title") ?? textAt(toolCall, "kind") ?? toolCallId ?? "Permission";
  const choices = listAt(params, "options").map(asObject).flatMap(permissionChoice);
  return {
    kind: "permission",
    id,
    sessionId,
    title,
    asked,
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
  const choices = request.submit ?? request.questions[0]?.choices ?? [];
  const byKind = (kind: string) => choices.find((choice) => permissionKind(choice) === kind);
  return byKind("reject_once") ?? byKind("reject_always");
}

function question(id: Json, sessionId: string, params: JsonObject): AgentRequest {
  const title = textAt(params, "prompt") ?? "The agent asks";
  const choices = listAt(params, "options").flatMap(questionChoice);
  const asked = {
    ...only(title, choices),
    multiple: params.multiSelect === true,
    allowOther: params.allowOther === true,
  };
  return { kind: "question", id, sessionId, title, questions: [asked] };
}

function only(prompt: string, choices: Choice[]): Question {
  return {
    name: "",
    prompt,
    heading: "",
    choices,
    multiple: false,
    required: true,
    allowOther: false,
    valueType: "string",
  };
}

/** Options are sent as texts, as pairs of value and label, or as objects. */
function questionChoice(option: Json): Choice[] {
  if (typeof option === "string") return [{ value: option, label: option }];
  if (Array.isArray(option)) {
    const [value, label, description] = option;
    if (typeof value !== "string") return [];
    return [{ value, label: asText(label) ?? value, description: asText(description) ?? undefined }];
  }
  const fields = asObject(option);
  const value = asText(fields.value) ?? asText(fields.id) ?? asText(fields.label);
  if (value === null) return [];
  return [{ value, label: textAt(fields, "label") ?? value, description: textAt(fields, "description") }];
}

/** Qwen Code marks a permission request as a question. */
function qwenQuestions(id: Json, sessionId: string, params: JsonObject): AgentRequest | undefined {
  const toolCall = asObject(params.toolCall);
  const meta = asObject(toolCall._meta);
  if (meta.qwenInteractionKind !== "user_question" || !Array.isArray(params.options)) return undefined;
  const listed = asList(meta.qwenQuestions);
  const asked = listed.length > 0 ? listed : asList(asObject(toolCall.rawInput).questions);
  const questions = asked.flatMap((question, number) => ownQuestion(asObject(question), String(number)));
  if (questions.length === 0) return undefined;
  const submit = listAt(params, "options").map(asObject).flatMap(permissionChoice);
  const title = asText(toolCall.title) ?? "The agent asks";
  const toolCallId = textAt(toolCall, "toolCallId");
  return { kind: "qwen", id, sessionId, title, toolCallId, toolCall, questions, submit };
}

function grokQuestions(id: Json, sessionId: string, params: JsonObject): AgentRequest | undefined {
  const asked = listAt(params, "questions").map(asObject);
  const questions = asked.flatMap((question) => ownQuestion(question, asText(question.question) ?? ""));
  if (questions.length === 0) return undefined;
  const toolCallId = textAt(params, "toolCallId");
  return { kind: "grok", id, sessionId, title: "The agent asks", toolCallId, questions };
}

function ownQuestion(question: JsonObject, name: string): Question[] {
  const prompt = asText(question.question);
  if (prompt === null) return [];
  const choices = listAt(question, "options").map(asObject).flatMap(questionChoice);
  const multiple = question.multiSelect === true;
  return [{ ...only(prompt, choices), name, heading: prompt, multiple, allowOther: true }];
}

/** A value as the text of an answer: the first one of a list, JSON text for anything that is not a string. */
export function answerText(value: Json | undefined): string | null {
  const first = Array.isArray(value) ? value[0] : value;
  if (first === undefined || first === null) return null;
  return typeof first === "string" ? first : jsonText(first);
}
