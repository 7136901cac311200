/**
 * What an answer of the user means in terms of universal events, in its `_meta`: the client library writes the
 * same, so a stored answer reads alike from either.
 */

import { asObject, jsonText, listAt, textAt, type Json, type JsonObject } from "../json";
import { permissionKind, type AgentRequest } from "./agentRequest";
import { readOutcome } from "./requestResult";

/** The ids that the universal events give to a request of the agent. */
export interface RequestIds {
  permission: string | undefined;
  questions: string[];
}

const STATUS_OF_KIND: Record<string, string> = { allow_once: "accept", allow_always: "accept_for_session" };

export function withAnswerMeta(request: AgentRequest, result: JsonObject, ids: RequestIds): JsonObject {
  const meta = ids.permission === undefined ? questionMeta(request, result, ids) : undefined;
  const own = meta ?? { permission: permissionMeta(request, result, ids.permission!) };
  return { ...result, _meta: { ...asObject(result._meta), "sandboxagent.dev": own } };
}

function permissionMeta(request: AgentRequest, result: JsonObject, permissionId: string): JsonObject {
  const optionId = textAt(result.outcome, "optionId") ?? null;
  const option = request.questions[0]?.choices.find((choice) => choice.value === optionId);
  const kind = (option && permissionKind(option)) ?? "";
  const granted = optionId !== null && !kind.startsWith("reject");
  const status = granted ? (STATUS_OF_KIND[kind] ?? "accept") : "reject";
  return { permissionId, optionId, status };
}

function questionMeta(request: AgentRequest, result: JsonObject, ids: RequestIds): JsonObject {
  const outcome = readOutcome(request, result);
  const status = outcome.accepted ? "answered" : "rejected";
  const entries = ids.questions.map((questionId, index) => ({
    questionId,
    response: outcome.accepted ? responseOf(request, outcome.values[index]) : null,
    status,
  }));
  const question = entries.length === 1 ? entries[0]! : entries;
  if (request.kind !== "question") return { question };
  return {
    outcome: status,
    ...(outcome.accepted ? { answers: listAt(result, "answers") } : {}),
    question,
  };
}

/** The first selection as text; for a permission that is a question, the name of the option. */
function responseOf(request: AgentRequest, value: Json | undefined): string | null {
  const first = Array.isArray(value) ? value[0] : value;
  if (first === undefined || first === null) return null;
  const text = typeof first === "string" ? first : jsonText(first);
  if (request.kind !== "permission") return text;
  return request.questions[0]?.choices.find((choice) => choice.value === text)?.label ?? text;
}
