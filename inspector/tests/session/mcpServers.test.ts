/** Configured MCP servers in the form of ACP. */

import { expect, test } from "vitest";
import type { ConfigEntry } from "../../src/api/bodies";
import { acpServers } from "../../src/session/mcpServers";

test("configured MCP servers take the shape of ACP, disabled ones are left out", () => {
  const entries: Record<string, ConfigEntry["mcp"]> = {
    files: { type: "local", command: ["npx", "-y"], args: ["server"], env: { A: "1" } },
    web: { type: "remote", url: "https://h/mcp", transport: "sse" },
    off: { type: "local", command: "x", args: [], enabled: false },
  };
  expect(acpServers(entries, "/w")).toEqual({
    servers: [
      { name: "files", command: "npx", args: ["-y", "server"], env: [{ name: "A", value: "1" }] },
      { type: "sse", name: "web", url: "https://h/mcp", headers: [] },
    ],
    leftOut: [],
  });
});

test.each([
  ["sub", "/w/sub"],
  ["/else", "/else"],
  ["~/there", "~/there"],
])("the directory %s and the time limit of a local server are applied in the sandbox", (cwd, wanted) => {
  const entry = { type: "local" as const, command: ["npx", "server"], args: ["x"], cwd, timeoutMs: 500 };
  const server = acpServers({ files: entry }, "/w/").servers[0] as { command: string; args: string[] };
  const limits = { cwd: wanted, timeoutMs: 500 };
  const [flag, source, given, ...rest] = server.args;
  expect([server.command, flag, ...rest]).toEqual(["python3", "-c", "npx", "server", "x"]);
  expect(source).toContain("os.chdir");
  expect(JSON.parse(given!)).toEqual(limits);
  expect(server).toMatchObject({ _meta: { "sandboxagent.dev": limits } });
});

test.each([
  ["bearerTokenEnvVar", { bearerTokenEnvVar: "TOKEN" }],
  ["envHeaders", { envHeaders: { "X-Key": "KEY" } }],
  ["oauth", { oauth: true }],
  ["timeoutMs", { timeoutMs: 5 }],
])("a remote server with %s is left out with a reason", (field, more) => {
  const entry = { type: "remote" as const, url: "https://h/mcp", ...more };
  const found = acpServers({ web: entry }, "/w");
  expect(found.servers).toEqual([]);
  expect(found.leftOut).toMatchObject([{ name: "web", field }]);
  expect(acpServers({ web: { ...entry, enabled: false } }, "/w").leftOut).toEqual([]);
});
