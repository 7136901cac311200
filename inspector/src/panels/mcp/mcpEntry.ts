/** The fields of the form for an entry of the MCP config, and the entry that they make. */

import type { ConfigEntry } from "../../api/bodies";
import { nonBlankPairs, wordsFrom, type Pair } from "./formFields";

export type McpEntry = ConfigEntry["mcp"];
export type McpType = "local" | "http" | "sse";

export interface McpFields {
  name: string;
  type: McpType;
  command: string;
  env: readonly Pair[];
  url: string;
  headers: readonly Pair[];
}

export function fieldsOf(name: string, entry: McpEntry | undefined): McpFields {
  const local = entry?.type === "local" ? entry : undefined;
  const remote = entry?.type === "remote" ? entry : undefined;
  const words = local ? [local.command, ...(local.args ?? [])].flat() : [];
  const pairs = (values: Record<string, string> = {}) =>
    Object.entries(values).map(([key, value]) => ({ name: key, value }));
  return {
    name,
    type: remote ? (remote.transport === "sse" ? "sse" : "http") : "local",
    command: words.map((word) => (word === "" || /\s/.test(word) ? `"${word}"` : word)).join(" "),
    env: pairs(local?.env),
    url: remote?.url ?? "",
    headers: pairs(remote?.headers),
  };
}

/** The entry of the fields; what the form does not show of `before` stays. Throws with what is wrong. */
export function entryOf(fields: McpFields, before: McpEntry | undefined): McpEntry {
  return fields.type === "local"
    ? localEntry(fields, before?.type === "local" ? before : undefined)
    : remoteEntry(fields, fields.type, before?.type === "remote" ? before : undefined);
}

function localEntry({ command, env }: McpFields, before: Partial<McpEntry> = {}): McpEntry {
  const [program = "", ...args] = wordsFrom(command);
  return defined({
    ...before,
    type: "local" as const,
    command: program,
    args,
    env: nonBlankPairs(env, "a variable"),
  });
}

function remoteEntry(
  { url, headers }: McpFields,
  transport: "http" | "sse",
  before: Partial<McpEntry> = {},
): McpEntry {
  return defined({
    ...before,
    type: "remote" as const,
    transport,
    url: url.trim(),
    headers: nonBlankPairs(headers, "a header"),
  });
}

function defined<T extends object>(entry: T): T {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => value !== undefined)) as T;
}
