/** What a message is, in a word or two: for the list of events and its filter. */

import { isObject, objectAt, textAt } from "../json";
import type { LoggedMessage } from "../live/message";

export type Category = "update" | "request" | "response" | "question" | "notification" | "adapter" | "gap";

export interface Description {
  category: Category;
  name: string;
  hint: string;
}

export function describe(message: LoggedMessage): Description {
  if (message.gap)
    return { category: "gap", name: "gap", hint: `kept ${message.gap.oldest} to ${message.gap.newest}` };
  const { payload } = message;
  if (!isObject(payload))
    return { category: "notification", name: "not an object", hint: JSON.stringify(payload).slice(0, 80) };
  const method = textAt(payload, "method");
  if (method === undefined) return response(payload);
  const update = objectAt(objectAt(payload, "params"), "update");
  if (method === "session/update")
    return { category: "update", name: textAt(update, "sessionUpdate") ?? method, hint: updateHint(update) };
  if (method.startsWith("_adapter/")) return { category: "adapter", name: method, hint: "" };
  if (isQuestion(method))
    return {
      category: "question",
      name: method,
      hint: textAt(payload.params, "prompt") ?? textAt(payload.params, "message") ?? "",
    };
  return {
    category: payload.id === undefined ? "notification" : "request",
    name: method,
    hint: promptHint(payload.params),
  };
}

function isQuestion(method: string): boolean {
  return [
    "session/request_permission",
    "_sandboxagent/session/request_question",
    "elicitation/create",
  ].includes(method);
}

function response(payload: Record<string, unknown>): Description {
  const error = objectAt(payload, "error");
  if (error) return { category: "response", name: "error", hint: textAt(error, "message") ?? "" };
  const stop = textAt(payload.result, "stopReason");
  return { category: "response", name: "result", hint: stop ?? "" };
}

function updateHint(update: unknown): string {
  const text = textAt(objectAt(update, "content"), "text");
  return (text ?? textAt(update, "title") ?? textAt(update, "status") ?? "").slice(0, 120);
}

function promptHint(params: unknown): string {
  if (!isObject(params) || !Array.isArray(params.prompt)) return "";
  return params.prompt
    .map((block) => textAt(block, "text") ?? "")
    .join(" ")
    .slice(0, 120);
}
