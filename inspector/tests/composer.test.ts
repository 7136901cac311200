/** Completion of files and the list of sessions. */

import { expect, test } from "vitest";
import type { AcpServer, FsEntry } from "../src/api/bodies";
import { matchingFiles, mentionAt } from "../src/composer/fileMentions";
import { optionIndex, optionKey } from "../src/conversation/requests/optionKeys";
import type { Phase } from "../src/session/sessionMachine";
import { filterRows, sessionRows } from "../src/sidebar/sessionRows";
import type { SessionRecord } from "../src/storage/sessionRecord";

function entry(name: string, entryType: "file" | "directory" = "file"): FsEntry {
  return { name, path: `/w/${name}`, entryType, size: 1, modified: "" } as FsEntry;
}

// clauses: inspector-26
test("a mention is the @path before the cursor", () => {
  expect(mentionAt("look at @src/ma", 15)).toEqual({ start: 8, folder: "src", prefix: "ma" });
  expect(mentionAt("@", 1)).toEqual({ start: 0, folder: "", prefix: "" });
  expect(mentionAt("mail a@b", 8)).toBeUndefined();
  expect(mentionAt("@done now", 9)).toBeUndefined();
});

test("files that begin with the text come first, hidden ones only when asked for", () => {
  const entries = [entry("domain.py"), entry("main.py"), entry(".mailmap"), entry("maps", "directory")];
  const found = matchingFiles(entries, { start: 0, folder: "", prefix: "ma" });
  expect(found.map((one) => one.insert)).toEqual(["@main.py ", "@maps/", "@domain.py "]);
  expect(found[0]!.file?.path).toBe("/w/main.py");
  expect(matchingFiles(entries, { start: 0, folder: "", prefix: ".m" })).toHaveLength(1);
});

// clauses: inspector-12
test("every option of a card has a key of its own", () => {
  expect([0, 8, 9, 34, 35].map(optionKey)).toEqual(["1", "9", "a", "z", ""]);
  expect(optionIndex("b")).toBe(10);
  expect(optionIndex("Enter")).toBe(-1);
});

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
  expect(rows()[0]).toMatchObject({ title: "Fix the bug", state: "working", foreign: false });
  expect(rows("waiting")[0]!.state).toBe("waiting");
  expect(rows("ended", [])[0]!.state).toBe("ended");
});

// clauses: inspector-37
test("instances of other clients are rows too, and what waits for the user comes first", () => {
  const other = { ...SERVER, serverId: "theirs", lastActivityMs: 99, pendingRequests: 0 };
  const both = rows("waiting", [SERVER, other]);
  expect(both.map((row) => [row.title, row.state])).toEqual([
    ["Fix the bug", "waiting"],
    ["theirs", "idle"],
  ]);
  expect(filterRows(both, "waits bug")).toHaveLength(1);
  expect(filterRows(both, "another client")[0]!.title).toBe("theirs");
});
