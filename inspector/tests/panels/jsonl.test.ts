/** Exports of the Events panel, and their import. */

import { expect, test } from "vitest";
import { fromStored, toStored } from "../../src/fold/message";
import { agentOf, exportJsonl, parseJsonl, splitRuns, storedRows } from "../../src/panels/events/jsonl";

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

test("a damaged file is refused with the number of its line", () => {
  expect(() => parseJsonl('{"a":1}\nnot json\n')).toThrow("Line 2");
});
