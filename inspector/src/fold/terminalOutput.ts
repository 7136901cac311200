/** Output of commands that agents run in terminals of their own and send beside their updates, in `_meta`. */

import { asObject, asText, type JsonObject } from "../json";

/** Terminal output after an update: a delta is appended, a text that repeats the start replaces it. */
export function terminalText(before: string, meta: JsonObject): string {
  const data = asText(asObject(meta.terminal_output).data)?.replaceAll("\r\n", "\n");
  const delta = asText(asObject(meta.terminal_output_delta).data)?.replaceAll("\r\n", "\n");
  const text = data === undefined ? before : data.startsWith(before) ? data : before + data;
  return text + (delta ?? "");
}
