/** What an agent asks permission for. */

import { asObject, asText, isObject, type JsonObject } from "../json";

/** The tool call of a permission request, completed by what was said about it before. */
export function mergedToolCall(known: JsonObject, toolCall: JsonObject): JsonObject {
  const given = Object.entries(toolCall).filter(([, value]) => value !== null && value !== undefined);
  const merged: JsonObject = { ...known, ...Object.fromEntries(given) };
  // Of a right that the call needs, such as a directory; the call says more.
  if (toolCall.kind === "other" && known.kind !== undefined) merged.kind = known.kind;
  const { rawInput } = merged;
  return isObject(rawInput) ? { ...merged, rawInput: { ...asObject(known.rawInput), ...rawInput } } : merged;
}

/** The title of a tool call, with the command if the title does not show it. */
export function actionOf(toolCall: JsonObject): string {
  const action =
    asText(toolCall.title) ??
    asText(toolCall.name) ??
    asText(toolCall.kind) ??
    asText(toolCall.toolCallId) ??
    "";
  const input = asObject(toolCall.rawInput);
  const given = input.command || input.cmd;
  const command = Array.isArray(given) ? given.map(String).join(" ") : given;
  const shown = typeof command !== "string" || command === "" || action.includes(command);
  return shown ? action : `${action}: ${command}`;
}
