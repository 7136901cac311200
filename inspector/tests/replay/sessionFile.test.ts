/** What an exported session holds, and what it leaves out. */

import { expect, test } from "vitest";
import { readMessages } from "../../src/replay/messageLines";
import { Recording } from "../../src/replay/recording";
import { writeSessionFile } from "../../src/replay/sessionFile";
import type { LoggedMessage } from "../../src/fold/message";
import type { Json } from "../../src/json";

const TEMPLATE = "<body><!--session--></body>";
const FACTS = { title: "</script><b>", agent: "Mock", savedAt: 1, isOver: true };

function message(n: number, sender: "agent" | "client", time: number, payload: Json): LoggedMessage {
  return { n, sender, after: n, time, payload };
}

test("neither text nor title can end the data block or open a comment", () => {
  const text = "</script><script>alert(1)</script><!-- $& $1";
  const file = writeSessionFile(TEMPLATE, FACTS, [message(0, "agent", 1, { method: "x", params: { text } })]);
  expect(file.match(/<\/script>/g)).toHaveLength(2);
  expect(file).not.toContain("<!--");
  expect(file).not.toContain("<b>");
  const [, block] = /id="session-messages">([^<]*)</.exec(file)!;
  expect(readMessages(block!)[0]!.payload).toEqual({ method: "x", params: { text } });
});

test("of a client's messages only prompts, answers and options keep what they carried", () => {
  const env = [{ name: "KEY", value: "secret-value" }];
  const messages = [
    message(0, "client", 1, {
      jsonrpc: "2.0",
      id: 1,
      method: "session/new",
      params: { mcpServers: [{ env }] },
    }),
    message(1, "client", 2, { jsonrpc: "2.0", id: 2, method: "session/prompt", params: { prompt: [] } }),
    message(2, "client", 3, { jsonrpc: "2.0", id: 9, result: { outcome: "selected" } }),
  ];
  const file = writeSessionFile(TEMPLATE, FACTS, messages);
  expect(file).not.toContain("secret-value");
  expect(file).toContain('"method":"session/new"');
  expect(file).toContain('"outcome":"selected"');
});

test("a page without the place for the session is refused", () => {
  expect(() => writeSessionFile("<body></body>", FACTS, [])).toThrow("build it again");
});

test("long waits are played for a second, and unknown times take none", () => {
  const recording = new Recording([
    message(0, "client", 1000, { id: 1, method: "session/prompt", params: {} }),
    message(1, "agent", 0, { method: "session/update", params: {} }),
    message(2, "agent", 61_000, { method: "session/update", params: {} }),
    message(3, "client", 61_500, { id: 2, method: "session/prompt", params: {} }),
  ]);
  expect([0, 1, 2, 3, 4].map((at) => recording.elapsed(at))).toEqual([0, 0, 0, 60_000, 60_500]);
  expect([0, 999, 1000, 1500].map((ms) => recording.playedFrom(0, ms))).toEqual([2, 2, 3, 4]);
  expect([recording.promptFrom(0, 1), recording.promptFrom(1, 1), recording.promptFrom(4, 1)]).toEqual([
    1, 4, 4,
  ]);
  expect([recording.promptFrom(4, -1), recording.promptFrom(1, -1)]).toEqual([1, 0]);
});

test("a gap is recorded as a gap", () => {
  const gap = { oldest: 5, newest: 9 };
  const file = writeSessionFile(TEMPLATE, FACTS, [{ ...message(0, "agent", 1, null), gap }]);
  const [, block] = /id="session-messages">([^<]*)</.exec(file)!;
  expect(new Recording(readMessages(block!)).snapshot().rows).toMatchObject([{ item: { kind: "gap", gap } }]);
});
