/** MCP servers of a directory's config in the shape of ACP. The server itself never injects them. */

import { isObject, objectAt, textAt, type Json, type JsonObject } from "../json";

export function acpServers(entries: Record<string, JsonObject>): JsonObject[] {
  return Object.entries(entries)
    .filter(([, entry]) => entry.enabled !== false)
    .map(([name, entry]) => (entry.type === "remote" ? remote(name, entry) : local(name, entry)));
}

function local(name: string, entry: JsonObject): JsonObject {
  const words = Array.isArray(entry.command) ? entry.command : [entry.command ?? ""];
  const args = Array.isArray(entry.args) ? entry.args : [];
  const [command = "", ...first] = words;
  return { name, command, args: [...first, ...args], env: pairs(objectAt(entry, "env")) };
}

function remote(name: string, entry: JsonObject): JsonObject {
  const type = entry.transport === "sse" ? "sse" : "http";
  return { type, name, url: textAt(entry, "url") ?? "", headers: pairs(objectAt(entry, "headers")) };
}

function pairs(map: JsonObject | undefined): Json[] {
  return Object.entries(isObject(map) ? map : {}).map(([name, value]) => ({ name, value: String(value) }));
}
