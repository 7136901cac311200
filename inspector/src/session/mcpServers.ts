/**
 * MCP servers of a directory's config in the shape of ACP. The server itself never adds them to a session.
 *
 * The rules are those of the SDK: `cwd` and `timeoutMs` of a local server are applied by a launcher in the
 * sandbox, and an entry with a field that cannot be served is left out with a reason.
 */

import type { McpServer } from "@agentclientprotocol/sdk";
import launcher from "../../../src/sandbox_agent/sdk/session/config/mcp_launcher.py?raw";
import type { ConfigEntry } from "../api/bodies";

type McpEntry = ConfigEntry["mcp"];
type LocalEntry = Extract<McpEntry, { type: "local" }>;
type RemoteEntry = Extract<McpEntry, { type: "remote" }>;

interface LeftOut {
  name: string;
  field: string;
  reason: string;
}

export interface AcpServers {
  servers: McpServer[];
  leftOut: LeftOut[];
}

/** A relative `cwd` starts at `directory`. */
export function acpServers(entries: Record<string, McpEntry>, directory: string): AcpServers {
  const found: AcpServers = { servers: [], leftOut: [] };
  for (const [name, entry] of Object.entries(entries)) {
    if (entry.enabled === false) continue;
    const problem = entry.type === "remote" ? unservedField(entry) : undefined;
    if (problem) found.leftOut.push({ name, ...problem });
    else if (entry.type === "remote") found.servers.push(remoteServer(name, entry));
    else found.servers.push(localServer(name, entry, directory));
  }
  return found;
}

function localServer(name: string, entry: LocalEntry, directory: string): McpServer {
  const given = Array.isArray(entry.command) ? entry.command : [entry.command];
  const limits = limitsOf(entry, directory);
  const wrapper = Object.keys(limits).length ? ["python3", "-c", launcher, JSON.stringify(limits)] : [];
  const [command = "", ...args] = [...wrapper, ...given, ...(entry.args ?? [])];
  const server: McpServer = { name, command, args, env: pairs(entry.env) };
  return wrapper.length ? { ...server, _meta: { "sandboxagent.dev": limits } } : server;
}

/** What the launcher applies. */
function limitsOf({ cwd, timeoutMs }: LocalEntry, directory: string): { cwd?: string; timeoutMs?: number } {
  const isRelative = cwd !== undefined && !/^[/~]/.test(cwd);
  return {
    ...(cwd === undefined ? {} : { cwd: isRelative ? `${directory.replace(/\/$/, "")}/${cwd}` : cwd }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  };
}

function remoteServer(name: string, entry: RemoteEntry): McpServer {
  const type = entry.transport === "sse" ? "sse" : "http";
  return { type, name, url: entry.url, headers: pairs(entry.headers) };
}

/** A field with a value that neither ACP nor the page can serve. */
function unservedField(entry: RemoteEntry): Omit<LeftOut, "name"> | undefined {
  const variables = "the page cannot read variables of the sandbox; give the value in headers";
  if (entry.bearerTokenEnvVar) return { field: "bearerTokenEnvVar", reason: variables };
  if (Object.keys(entry.envHeaders ?? {}).length) return { field: "envHeaders", reason: variables };
  if (entry.oauth)
    return { field: "oauth", reason: "ACP has no field for OAuth; the agent itself must log in" };
  if (entry.timeoutMs !== undefined)
    return { field: "timeoutMs", reason: "ACP has no time limit for a remote server" };
  return undefined;
}

function pairs(map: Record<string, string> = {}): { name: string; value: string }[] {
  return Object.entries(map).map(([name, value]) => ({ name, value }));
}
