/** Requests of the agent that nobody serves here, such as reading files through the client: say so at once. */

import { isObject, objectAt, type Json, type JsonObject } from "../json";
import { readRequest } from "../conversation/requests";

const METHOD_NOT_FOUND = -32601;
const INVALID_PARAMS = -32602;

/** The error to answer with, or undefined if the message is no request or one for a person. */
export function refusal(message: Json): JsonObject | undefined {
  if (!isObject(message) || typeof message.method !== "string" || message.id === undefined) return undefined;
  if (readRequest(message)) return undefined;
  const unknownForm = message.method === "elicitation/create";
  const code = unknownForm ? INVALID_PARAMS : METHOD_NOT_FOUND;
  const mode = String(objectAt(message, "params")?.mode ?? "");
  const text = unknownForm
    ? `The inspector shows forms only, not ${mode || "this"}`
    : `The inspector does not serve ${message.method}`;
  return { jsonrpc: "2.0", id: message.id, error: { code, message: text } };
}
