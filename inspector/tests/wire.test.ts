/** The event stream's text, the order of messages, snippets, exports and addresses. */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import { expect, test } from "vitest";
import type { ConfigEntry } from "../src/api/bodies";
import { diffLines } from "../src/conversation/tools/diffLines";
import { fromStored, toStored } from "../src/fold/message";
import { agentOf, exportJsonl, parseJsonl, splitRuns, storedRows } from "../src/panels/events/jsonl";
import { nonBlankPairs, pairsFrom, wordsFrom } from "../src/panels/mcp/formFields";
import { entryOf, fieldsOf } from "../src/panels/mcp/mcpEntry";
import { asCurl, asPython } from "../src/panels/snippets";
import { acpServers } from "../src/session/mcpServers";
import { selectOptions } from "../src/session/options";
import { headersFromLink } from "../src/state/endpoint";
import { parseRoute, routePath } from "../src/state/route";
import { nextTheme } from "../src/ui/hooks/useTheme";

const STREAM =
  'event: message\nid: 1\ndata: {"a":1}\n\n: heartbeat\n\nevent: gap\ndata: {"oldest":3,"newest":9}\n\nevent: message\r\nid: 2\r\ndata: x\r\n\r\n';

test.each([1, 3, 11, 1000])("a stream cut into pieces of %i characters gives the same events", (size) => {
  const events: EventSourceMessage[] = [];
  let heartbeats = 0;
  const parser = createParser({
    onEvent: (event) => events.push(event),
    onComment: () => (heartbeats += 1),
  });
  for (let at = 0; at < STREAM.length; at += size) parser.feed(STREAM.slice(at, at + size));
  expect(events).toEqual([
    { event: "message", id: "1", data: '{"a":1}' },
    { event: "gap", data: '{"oldest":3,"newest":9}' },
    { event: "message", id: "2", data: "x" },
  ]);
  expect(heartbeats).toBe(1);
});

test("a stored message comes back as it was, after the event it followed", () => {
  const sent = { n: 5, sender: "client" as const, after: 7, time: 1000, payload: { id: 1 } };
  const stored = toStored(sent, "log");
  expect(stored).toMatchObject({ position: 7, sender: "client" });
  expect(stored.order).toBeGreaterThan(toStored({ ...sent, sender: "agent", eventId: 7 }, "log").order);
  expect(fromStored(stored, 5)).toEqual({ ...sent, eventId: undefined });
});

test("what is exported can be imported", () => {
  const messages = [
    { n: 0, sender: "client" as const, after: 0, time: 1, payload: { id: 1, method: "x" } },
    {
      n: 1,
      sender: "agent" as const,
      eventId: 1,
      after: 1,
      time: 2,
      payload: { id: 1, result: { text: "a\nb" } },
    },
  ];
  const read = parseJsonl(exportJsonl(messages, "s", "claude"));
  expect(read).toEqual(
    messages.map(({ sender, time, payload, eventId }) => ({
      sender,
      time,
      payload,
      eventId,
      agent: "claude",
    })),
  );
});

// clauses: inspector-36
test("an import keeps the agent and the numbers of the server", () => {
  const about = { id: 1, result: { agentInfo: { name: "mock" } } };
  const lines = [
    { sender: "client" as const, time: 1, payload: { id: 1, method: "initialize" } },
    { sender: "agent" as const, time: 2, payload: about, eventId: 41 },
    { sender: "client" as const, time: 3, payload: { id: 2, method: "session/new" } },
    { sender: "agent" as const, time: 4, payload: { id: 2, result: {} }, eventId: 42 },
  ];
  expect(agentOf(lines)).toBe("mock");
  expect(storedRows(lines, "l").map((row) => [row.position, row.order > 0])).toEqual([
    [0, true],
    [41, false],
    [41, true],
    [42, false],
  ]);
  expect(agentOf(lines.map((line) => ({ ...line, agent: "claude" })))).toBe("claude");
  const restarted = lines.map((line) => ({
    ...line,
    ...("eventId" in line ? { eventId: line.eventId! - 40 } : {}),
  }));
  const runs = splitRuns([...lines, ...restarted]);
  expect(runs).toEqual([lines, restarted]);
  // An error that the page added itself has no number, and the others keep theirs.
  const problem = { sender: "agent" as const, time: 5, payload: { id: 3, error: {} } };
  const rows = storedRows([...lines, problem], "l");
  expect(rows.map((row, n) => fromStored(row, n).eventId)).toEqual([undefined, 41, undefined, 42, undefined]);
  const bare = lines.map(({ sender, time, payload }) => ({ sender, time, payload }));
  expect(storedRows(bare, "l").map((row) => row.position)).toEqual([1, 2, 3, 4]);
});

// clauses: inspector-42
test("each press of the theme button changes what is seen", () => {
  expect(["system", "dark", "light"].map((name) => nextTheme(name, false))).toEqual([
    "dark",
    "light",
    "system",
  ]);
  expect(["system", "light", "dark"].map((name) => nextTheme(name, true))).toEqual([
    "light",
    "dark",
    "system",
  ]);
});

test("a damaged file is refused with the number of its line", () => {
  expect(() => parseJsonl('{"a":1}\nnot json\n')).toThrow("Line 2");
});

const request = {
  id: 1,
  method: "POST",
  url: "http://h/v1/acp/x?agent=mock",
  headers: { accept: "a/b" },
  body: `{"it's":"\\n"}`,
  startedAt: 0,
};

test("a request as curl quotes its body and names no token", () => {
  expect(asCurl(request, true)).toBe(
    `curl -X POST 'http://h/v1/acp/x?agent=mock' \\\n  -H "Authorization: Bearer $SANDBOX_AGENT_TOKEN" \\\n  -H 'accept: a/b' \\\n  --data '{"it'\\''s":"\\n"}'`,
  );
});

test("a request as Python is a whole program", () => {
  const program = asPython(request, true);
  expect(program).toContain("import httpx");
  expect(program).toContain(`content = "{\\"it's\\":\\"\\\\n\\"}"`);
  expect(program).toContain("os.environ['SANDBOX_AGENT_TOKEN']");
});

test.each(["/ui/", "/ui/sessions/a%2Fb", "/ui/servers/x%20y"])(
  "the address %s survives reading and writing",
  (path) => {
    expect(routePath(parseRoute(path))).toBe(path);
  },
);

test("a stray percent sign in an address is itself", () => {
  expect(parseRoute("/ui/servers/50%")).toEqual({ page: "server", id: "50%" });
});

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

test("the older modes are an option like the others", () => {
  const modes = { currentModeId: "a", availableModes: [{ id: "a", name: "A" }] };
  expect(selectOptions({ modes, configOptions: [] })).toMatchObject([
    { category: "mode", currentValue: "a" },
  ]);
});

test("form fields are read as words and pairs", () => {
  expect(wordsFrom(`npx -y "a b" 'c d'`)).toEqual(["npx", "-y", "a b", "c d"]);
  expect(pairsFrom("A=b=c\n\nexport X=\n", "=")).toEqual([
    { name: "A", value: "b=c" },
    { name: "X", value: "" },
  ]);
  expect(pairsFrom("BAD LINE", "=")).toBeUndefined();
  expect(pairsFrom("A=1\nTWO WORDS=x", "=")).toBeUndefined();
  expect(nonBlankPairs([{ name: " ", value: "" }], "a variable")).toBeUndefined();
  expect(() => nonBlankPairs([{ name: "TWO WORDS", value: "x" }], "a variable")).toThrow("TWO WORDS");
  expect(() => nonBlankPairs([{ name: "", value: "x" }], "a variable")).toThrow("a variable");
});

// clauses: inspector-35
test("editing an MCP server keeps what the form does not show", () => {
  const local = {
    type: "local" as const,
    command: ["run", "a b"],
    args: ["c"],
    cwd: "sub",
    timeoutMs: 5,
    env: { K: "v" },
  };
  expect(entryOf(fieldsOf("x", local), local)).toEqual({ ...local, command: "run", args: ["a b", "c"] });
  const remote = { type: "remote" as const, url: "https://h/", enabled: false, bearerTokenEnvVar: "T" };
  const edited = { ...fieldsOf("x", remote), headers: [{ name: "X-Key", value: "k" }] };
  expect(entryOf(edited, remote)).toEqual({ ...remote, transport: "http", headers: { "X-Key": "k" } });
});

test("a diff shows changes with their surroundings", () => {
  const before = Array.from({ length: 20 }, (_, n) => `line ${n}`).join("\n");
  const lines = diffLines(before, before.replace("line 10", "changed"));
  expect(lines.filter((line) => line.kind === "removed")).toEqual([
    { kind: "removed", text: "line 10", before: 11 },
  ]);
  expect(lines.filter((line) => line.kind === "added")).toEqual([
    { kind: "added", text: "changed", after: 11 },
  ]);
  expect(lines.filter((line) => line.kind === "skip")).toHaveLength(2);
});

// clauses: inspector-21
test("a diff marks the words that changed in a line", () => {
  const lines = diffLines("const width = 10;\n", "const width = 12;\n");
  expect(lines.map((line) => line.parts?.filter((part) => part.changed).map((part) => part.text))).toEqual([
    ["10"],
    ["12"],
  ]);
});

test("a link sets headers for a proxy, and none that the server reads", () => {
  const ofProxy = { "X-Access": "1", "cf-access-client-id": "2" };
  const ofServer = {
    "X-Sandbox-Agent-Env": "{}",
    " x-sandbox-agent-later": "1",
    Authorization: "Bearer x",
    Prefer: "respond-async",
    "Last-Event-ID": "9",
    Range: "bytes=0-0",
    "If-Match": "*",
    "Content-Type": "text/plain",
    accept: "text/html",
  };
  const link = JSON.stringify({ ...ofProxy, ...ofServer });
  expect(headersFromLink(link)).toEqual({ "x-access": "1", "cf-access-client-id": "2" });
  expect(headersFromLink("[1]")).toEqual({});
  expect(headersFromLink(null)).toEqual({});
});
