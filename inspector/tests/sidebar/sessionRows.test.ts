/** The rows of the sidebar. */

import { expect, test } from "vitest";
import type { AcpServer } from "../../src/api/bodies";
import type { Phase } from "../../src/session/sessionMachine";
import { filterRows, sessionRows } from "../../src/sidebar/sessionRows";
import type { SessionRecord } from "../../src/storage/sessionRecord";

const SESSION = {
  id: "one",
  origin: "http://h",
  agent: "mock",
  serverId: "ui-1",
  title: "Fix the bug",
  createdAt: 1,
  lastActiveAt: 5,
  archived: false,
  logs: ["http://h|ui-1|7"],
} as unknown as SessionRecord;
const SERVER = {
  serverId: "ui-1",
  agent: "mock",
  createdAtMs: 7,
  status: "running",
  pendingRequests: 1,
  lastActivityMs: 9,
} as AcpServer;

function rows(phase?: Phase, servers: AcpServer[] = [SERVER]) {
  const phases = new Map<string, Phase>(phase ? [["one", phase]] : []);
  return sessionRows([SESSION], servers, phases, false);
}

// clauses: inspector-37
test("a session and its server are one row", () => {
  expect(rows()).toHaveLength(1);
  expect(rows()[0]).toMatchObject({ title: "Fix the bug", state: "working" });
  expect(rows("waiting")[0]!.state).toBe("waiting");
  expect(rows("ended", [])[0]!.state).toBe("ended");
});

// clauses: inspector-37
test("instances of other clients are rows too, and what waits for the user comes first", () => {
  const other = { ...SERVER, serverId: "theirs", lastActivityMs: 99, pendingRequests: 0 };
  const both = rows("waiting", [SERVER, other]);
  expect(both.map((row) => [row.title, row.state])).toEqual([
    ["Fix the bug", "waiting"],
    [expect.stringMatching(/^Mock, started \S+ \d\d:\d\d$/), "idle"],
  ]);
  expect(filterRows(both, "waits bug")).toHaveLength(1);
  expect(filterRows(both, "another client")).toEqual([both[1]]);
  expect(filterRows(both, "theirs")).toEqual([both[1]]);
});
