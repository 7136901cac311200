/** Permissions and questions: from the agent's request to the client's answer. */

import {
  asList,
  asObject,
  asText,
  isObject,
  productMeta,
  textAt,
  type Json,
  type JsonObject,
} from "../../json";
import { answerText, type AgentRequest, type Question } from "../agentRequest";
import type { RequestIds } from "../answerMeta";
import { blockText } from "./content";
import { idKey } from "../messageReader";
import { actionOf, mergedToolCall } from "../permissionAction";
import { readOutcome, type Outcome } from "../requestResult";
import type { Emitter } from "./emitter";
import { toolNameOf } from "./meta";
import type { Tools } from "./tools";

interface OpenRequest {
  requestKey: string;
  resolve(result: JsonObject): void;
}

interface PermissionOption {
  optionId: string;
  name: string;
  kind: string;
}

const STATUS_OF_KIND: Record<string, string> = {
  allow_once: "accept",
  allow_always: "accept_for_session",
  reject_once: "reject",
  reject_always: "reject",
};

export class OpenRequests {
  private readonly permissions = new Map<string, OpenRequest>();
  private readonly questions = new Map<string, OpenRequest>();

  constructor(
    private readonly out: Emitter,
    private readonly tools: Tools,
  ) {}

  /** Returns false if the parameters are not those of such a request. */
  add(request: AgentRequest, params: JsonObject): boolean {
    if (request.kind === "permission") return this.addPermission(request, params);
    if (request.kind === "question") return this.addQuestion(request, params);
    if (request.kind === "form") return this.addForm(request, params);
    if (request.toolCall) this.knownToolCall(request.toolCall);
    this.askAll(request, request.kind === "qwen");
    return true;
  }

  private addPermission(request: AgentRequest, params: JsonObject): boolean {
    const { options: offered } = params;
    if (!isObject(params.toolCall) || !Array.isArray(offered)) return false;
    const options = permissionOptions(request);
    const { asked } = request;
    const known = this.knownToolCall(params.toolCall);
    const toolCall = asked === undefined || asText(known.title) ? known : { ...known, title: asked };
    if (isChoice(toolCall, options)) {
      const names = options.map((one) => one.name);
      this.ask(
        request,
        this.out.newId("quest"),
        choicePrompt(toolCall),
        names,
        choiceResponse(options),
        true,
      );
      return true;
    }
    const named = asText(asObject(productMeta(params).permission).permissionId);
    const id = named && !this.permissions.has(named) ? named : this.out.newId("perm");
    const action = actionOf(asked === undefined ? toolCall : { ...toolCall, title: asked });
    const metadata = { request_id: request.id, tool_call: toolCall, options: offered };
    const data = (status: string, extra: JsonObject) => ({
      permission_id: id,
      action,
      status,
      metadata: { ...metadata, ...extra },
    });
    this.out.emit("permission.requested", data("requested", {}));
    this.permissions.set(id, {
      requestKey: idKey(request.id),
      resolve: (result) => {
        const { status, extra } = permissionOutcome(options, readOutcome(request, result), result);
        this.out.emit("permission.resolved", data(status, extra), true);
        if (status === "reject") this.tools.rejected(toolCall, !("cancelled" in extra));
      },
    });
    return true;
  }

  private addQuestion(request: AgentRequest, params: JsonObject): boolean {
    if (typeof params.prompt !== "string") return false;
    const id = asText(params.questionId) ?? asText(params.question_id) ?? this.out.newId("quest");
    if (this.questions.has(id)) return false;
    this.ask(request, id, params.prompt, choiceValues(request.questions[0]), valueResponse(0), false);
    return true;
  }

  private addForm(request: AgentRequest, params: JsonObject): boolean {
    const { message, requestedSchema } = params;
    if (params.mode === "url") {
      this.ask(request, this.out.newId("quest"), request.title, [], valueResponse(0), false);
      return true;
    }
    if (typeof message !== "string" || !isObject(requestedSchema)) return false;
    if (request.questions.length === 0) {
      this.ask(request, this.out.newId("quest"), message, [], valueResponse(0), false);
    }
    this.askAll(request, false);
    return true;
  }

  private askAll(request: AgentRequest, synthetic: boolean): void {
    request.questions.forEach((asked, index) => {
      const id = this.out.newId("quest");
      this.ask(request, id, asked.prompt, choiceValues(asked), valueResponse(index), synthetic);
    });
  }

  /** ACP's `toolCall` is an update in a permission request: what it leaves out was said before. */
  private knownToolCall(toolCall: JsonObject): JsonObject {
    this.tools.requested(toolCall);
    return mergedToolCall(this.tools.facts(asText(toolCall.toolCallId)), toolCall);
  }

  /** The ids of the open permission or questions of a request. */
  idsOf(requestId: Json): RequestIds {
    const key = idKey(requestId);
    const find = (open: Map<string, OpenRequest>) =>
      [...open].filter(([, one]) => one.requestKey === key).map(([id]) => id);
    return { permission: find(this.permissions)[0], questions: find(this.questions) };
  }

  answer(requestId: Json, result: JsonObject): void {
    const key = idKey(requestId);
    for (const open of [this.permissions, this.questions]) {
      for (const [id, request] of [...open]) {
        if (request.requestKey !== key) continue;
        open.delete(id);
        request.resolve(result);
      }
    }
  }

  /** The agent takes a request back; returns whether it was open. */
  withdraw(requestId: Json | undefined): boolean {
    const key = idKey(requestId);
    const open = [...this.permissions.values(), ...this.questions.values()].some(
      (one) => one.requestKey === key,
    );
    this.answer(requestId ?? null, {});
    return open;
  }

  /** Reject all open requests because no answer is possible any more. */
  rejectAll(): void {
    for (const one of [...this.permissions.values(), ...this.questions.values()]) {
      this.answer(JSON.parse(one.requestKey) as Json, {});
    }
  }

  private ask(
    request: AgentRequest,
    id: string,
    prompt: string,
    options: string[],
    responseOf: ResponseOf,
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
      requestKey: idKey(request.id),
      resolve: (result) => {
        const response = responseOf(readOutcome(request, result));
        const resolved = response === undefined ? data("rejected", null) : data("answered", response);
        this.out.emit("question.resolved", resolved, true);
      },
    });
  }
}

/** The text of an answer, null for an answer without one, undefined if the question was rejected. */
type ResponseOf = (outcome: Outcome) => string | null | undefined;

function permissionOptions(request: AgentRequest): PermissionOption[] {
  const choices = request.questions[0]?.choices ?? [];
  return choices.map(({ value, label, kind = "" }) => ({ optionId: value, name: label, kind }));
}

function permissionOutcome(
  options: PermissionOption[],
  outcome: Outcome,
  result: JsonObject,
): { status: string; extra: JsonObject } {
  const [optionId] = outcome.values;
  if (typeof optionId !== "string") return { status: "reject", extra: { cancelled: true } };
  const option = options.find((one) => one.optionId === optionId);
  const extra: JsonObject = { selected_option: option ? { ...option } : { optionId } };
  const { fallback, permission } = productMeta(result);
  if (fallback !== undefined && fallback !== null) extra.fallback = fallback;
  const recorded = textAt(permission, "status");
  const granted = recorded === "accept" || recorded === "accept_for_session" ? recorded : "reject";
  return { status: STATUS_OF_KIND[option?.kind ?? ""] ?? STATUS_OF_KIND[optionId] ?? granted, extra };
}

/** Whether a permission request is a question: it leaves plan mode, or its options are answers. */
function isChoice(toolCall: JsonObject, options: PermissionOption[]): boolean {
  return isPlan(toolCall) || options.some((option) => /^q\d+_opt_\d+$/.test(option.optionId));
}

/** Whether a call leaves plan mode. */
function isPlan(toolCall: JsonObject): boolean {
  return [toolNameOf(toolCall), toolCall.title].includes("ExitPlanMode") || toolCall.kind === "switch_mode";
}

function choicePrompt(toolCall: JsonObject): string {
  const title = asText(toolCall.title) ?? "Approve the plan?";
  const shown = asList(toolCall.content)
    .map((piece) => blockText(asObject(piece).content))
    .filter((text) => text)
    .join("\n");
  const plan = asText(asObject(toolCall.rawInput).plan) ?? shown;
  if (!plan) return title;
  // Otherwise the title is the name of the agent's tool for questions.
  return isPlan(toolCall) ? `${title}\n\n${plan}` : plan;
}

function choiceResponse(options: PermissionOption[]): ResponseOf {
  return ({ values }) => {
    const option = options.find((one) => one.optionId === values[0]);
    return !option || option.kind.startsWith("reject") ? undefined : option.name;
  };
}

function valueResponse(index: number): ResponseOf {
  return ({ accepted, values }) => (accepted ? answerText(values[index]) : undefined);
}

function choiceValues(asked: Question | undefined): string[] {
  return asked?.choices.map((choice) => choice.value) ?? [];
}
