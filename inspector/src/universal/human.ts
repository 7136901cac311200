/** Permissions and questions: from the agent's request to the client's answer. */

import { isObject, type Json, type JsonObject } from "../json";
import type { Emitter } from "./emitter";
import { productMeta, toolNameOf } from "./meta";
import { asList, asObject, asText, jsonText } from "./reading";
import type { Tools } from "./tools";

interface PermissionOption {
  optionId: string;
  name: string;
  kind: string;
}

interface Waiting {
  id: string;
  requestKey: string;
  resolve(result: JsonObject): void;
}

const STATUS_OF_KIND: Record<string, string> = {
  allow_once: "accept",
  allow_always: "accept_for_session",
  reject_once: "reject",
  reject_always: "reject",
};

export class Human {
  private readonly permissions = new Map<string, Waiting>();
  private readonly questions = new Map<string, Waiting>();

  constructor(
    private readonly out: Emitter,
    private readonly tools: Tools,
  ) {}

  requestPermission(requestId: Json, params: JsonObject): boolean {
    const { toolCall, options: offered } = params;
    if (!isObject(toolCall) || !Array.isArray(offered)) return false;
    const options = permissionOptions(offered);
    if (isPlanApproval(toolCall, this.tools.facts(asText(toolCall.toolCallId)))) {
      this.ask(
        requestId,
        this.out.newId("quest"),
        planPrompt(toolCall),
        options.map((one) => one.name),
        planOutcome(options),
        true,
      );
      return true;
    }
    const named = asText(asObject(productMeta(params).permission).permissionId);
    const id = named && !this.permissions.has(named) ? named : this.out.newId("perm");
    const action = asText(toolCall.title) ?? asText(toolCall.kind) ?? asText(toolCall.toolCallId) ?? "";
    const metadata = { request_id: requestId, tool_call: toolCall, options: offered };
    const data = (status: string, extra: JsonObject) => ({
      permission_id: id,
      action,
      status,
      metadata: { ...metadata, ...extra },
    });
    this.out.emit("permission.requested", data("requested", {}));
    this.permissions.set(id, {
      id,
      requestKey: jsonText(requestId),
      resolve: (result) => {
        const { status, extra } = permissionOutcome(options, result);
        this.out.emit("permission.resolved", data(status, extra), true);
      },
    });
    return true;
  }

  requestQuestion(requestId: Json, params: JsonObject): boolean {
    if (typeof params.prompt !== "string") return false;
    const id = asText(params.questionId) ?? asText(params.question_id) ?? this.out.newId("quest");
    if (this.questions.has(id)) return false;
    const values = asList(params.options)
      .map(optionValue)
      .filter((value) => value !== null);
    this.ask(requestId, id, params.prompt, values, questionOutcome, false);
    return true;
  }

  requestForm(requestId: Json, params: JsonObject): boolean {
    const { message, requestedSchema } = params;
    const mode = params.mode === undefined ? "form" : params.mode;
    if (mode !== "form" || typeof message !== "string" || !isObject(requestedSchema)) return false;
    const fields = Object.entries(asObject(requestedSchema.properties));
    if (fields.length === 0)
      this.ask(requestId, this.out.newId("quest"), message, [], formOutcome(""), false);
    for (const [name, field] of fields) {
      this.ask(
        requestId,
        this.out.newId("quest"),
        fieldPrompt(message, asObject(field)),
        fieldValues(asObject(field)),
        formOutcome(name),
        false,
      );
    }
    return true;
  }

  answer(requestId: Json, result: JsonObject): void {
    const key = jsonText(requestId);
    for (const waiting of [this.permissions, this.questions]) {
      for (const one of [...waiting.values()]) {
        if (one.requestKey !== key) continue;
        waiting.delete(one.id);
        one.resolve(result);
      }
    }
  }

  /** The agent takes a request back; whether it was open. */
  withdraw(requestId: Json | undefined): boolean {
    const key = jsonText(requestId);
    const open = [...this.permissions.values(), ...this.questions.values()].some(
      (one) => one.requestKey === key,
    );
    this.answer(requestId ?? null, {});
    return open;
  }

  /** Nobody will answer any more. */
  rejectAll(): void {
    for (const one of [...this.permissions.values(), ...this.questions.values()]) {
      this.answer(JSON.parse(one.requestKey) as Json, {});
    }
  }

  private ask(
    requestId: Json,
    id: string,
    prompt: string,
    options: string[],
    outcome: Outcome,
    synthetic: boolean,
  ): void {
    const data = (status: string, response: string | null) => ({
      question_id: id,
      prompt,
      options,
      response,
      status,
    });
    this.out.emit("question.requested", data("requested", null), synthetic);
    this.questions.set(id, {
      id,
      requestKey: jsonText(requestId),
      resolve: (result) => {
        const [status, response] = outcome(result);
        this.out.emit("question.resolved", data(status, response), true);
      },
    });
  }
}

type Outcome = (result: JsonObject) => ["answered" | "rejected", string | null];

function permissionOptions(offered: Json[]): PermissionOption[] {
  return offered.map(asObject).flatMap((option) => {
    const optionId = asText(option.optionId);
    return optionId
      ? [{ optionId, name: asText(option.name) ?? optionId, kind: asText(option.kind) ?? "" }]
      : [];
  });
}

function selected(result: JsonObject): string | null {
  const outcome = asObject(result.outcome);
  return outcome.outcome === "selected" && typeof outcome.optionId === "string" ? outcome.optionId : null;
}

function permissionOutcome(
  options: PermissionOption[],
  result: JsonObject,
): { status: string; extra: JsonObject } {
  const optionId = selected(result);
  if (optionId === null) return { status: "reject", extra: { cancelled: true } };
  const option = options.find((one) => one.optionId === optionId);
  const extra: JsonObject = { selected_option: option ? { ...option } : { optionId } };
  const { fallback, permission } = productMeta(result);
  if (fallback !== undefined && fallback !== null) extra.fallback = fallback;
  const recorded = asObject(permission).status;
  const granted = recorded === "accept" || recorded === "accept_for_session" ? recorded : "reject";
  return { status: STATUS_OF_KIND[option?.kind ?? ""] ?? STATUS_OF_KIND[optionId] ?? granted, extra };
}

function isPlanApproval(toolCall: JsonObject, known: { kind?: Json; toolName?: string | null }): boolean {
  const names = [toolNameOf(toolCall), toolCall.title, known.toolName];
  return names.includes("ExitPlanMode") || [toolCall.kind, known.kind].includes("switch_mode");
}

function planPrompt(toolCall: JsonObject): string {
  const title = asText(toolCall.title) ?? "Approve the plan?";
  const plan = asText(asObject(toolCall.rawInput).plan);
  return plan ? `${title}\n\n${plan}` : title;
}

function planOutcome(options: PermissionOption[]): Outcome {
  return (result) => {
    const option = options.find((one) => one.optionId === selected(result));
    return !option || option.kind.startsWith("reject") ? ["rejected", null] : ["answered", option.name];
  };
}

function formOutcome(name: string): Outcome {
  return (result) =>
    result.action === "accept"
      ? ["answered", answerText(asObject(result.content)[name])]
      : ["rejected", null];
}

const questionOutcome: Outcome = (result) => {
  const mirror = productMeta(result);
  if ((result.status || result.outcome || mirror.outcome) !== "answered") return ["rejected", null];
  const own = asList(result.answers);
  const answers = own.length > 0 ? own : asList(mirror.answers);
  return ["answered", answers.length > 0 ? answerText(answers[0]) : null];
};

function optionValue(option: Json): string | null {
  if (typeof option === "string") return option;
  if (Array.isArray(option) && typeof option[0] === "string") return option[0];
  const fields = asObject(option);
  return asText(fields.value) ?? asText(fields.id) ?? asText(fields.label);
}

function fieldPrompt(message: string, field: JsonObject): string {
  const lines = [message, asText(field.title), asText(field.description)].filter((line) => line);
  return [...new Set(lines)].join("\n");
}

function fieldValues(field: JsonObject): string[] {
  if (field.type === "boolean") return ["true", "false"];
  const choices = field.type === "array" ? asObject(field.items) : field;
  const oneOf = asList(choices.oneOf);
  const titled = oneOf.length > 0 ? oneOf : asList(choices.anyOf);
  const values = titled.length > 0 ? titled.map((choice) => asObject(choice).const) : asList(choices.enum);
  return values.map(answerText).filter((value) => value !== null);
}

/** A value as the text of an answer: the first one of a list, JSON text for what is no string. */
function answerText(value: Json | undefined): string | null {
  const first = Array.isArray(value) ? value[0] : value;
  if (first === undefined || first === null) return null;
  return typeof first === "string" ? first : jsonText(first);
}
