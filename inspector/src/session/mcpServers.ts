/** MCP servers of a directory's config in the shape of ACP. The server itself never adds them to a session. */

import type { McpServer } from "@agentclientprotocol/sdk";
import type { ConfigEntry } from "../api/bodies";

type McpEntry = ConfigEntry["mcp"];

export function acpServers(entries: Record<string, McpEntry>): McpServer[] {
  return Object.entries(entries)
    .filter(([, entry]) => entry.enabled !== false)
    .map(([name, entry]) => (entry.type === "remote" ? remoteServer(name, entry) : localServer(name, entry)));
}

function localServer(name: string, entry: Extract<McpEntry, { type: "local" }>): McpServer {
  const [command = "", ...first] = Array.isArray(entry.command) ? entry.command : [entry.command];
  return { name, command, args: [...first, ...(entry.args ?? [])], env: pairs(entry.env) };
}

function remoteServer(name: string, entry: Extract<McpEntry, { type: "remote" }>): McpServer {
  const type = entry.transport === "sse" ? "sse" : "http";
  return { type, name, url: entry.url, headers: pairs(entry.headers) };
}

function pairs(map: Record<string, string> = {}): { name: string; value: string }[] {
  return Object.entries(map).map(([name, value]) => ({ name, value }));
}
