/** Requests of the agent that the page does not serve, such as reading files: they are refused at once. */

import { INVALID_PARAMS, METHOD_NOT_FOUND } from "../api/errorCodes";
import type { Reading } from "../fold/messageReader";
import { plainText, type JsonObject } from "../json";

/** The error to answer with, or undefined if the message is not a request or the user decides it. */
export function unsupportedError(reading: Reading): JsonObject | undefined {
  if (reading.kind !== "call" || reading.id === undefined || reading.request) return undefined;
  const { id, method, params } = reading;
  const otherForm = method === "elicitation/create";
  const message = otherForm
    ? `The inspector shows forms and addresses only, not ${plainText(params.mode)}`
    : `The inspector does not serve ${method}`;
  return { jsonrpc: "2.0", id, error: { code: otherForm ? INVALID_PARAMS : METHOD_NOT_FOUND, message } };
}
