/** What clients posted, from the stream and from this browser: each message once, in its place. */

import { expect, test } from "vitest";
import { ClientMessages, type PostedMessage } from "../../src/instance/clientMessages";

const posted = (number: number, after: number, method: string): PostedMessage => ({
  number,
  after,
  timeMs: 1,
  message: { jsonrpc: "2.0", method },
});
const methods = (messages: PostedMessage[]) =>
  messages.map((one) => (one.message as { method: string }).method);

// clauses: inspector-33
test("a message of another client waits for the event before it", () => {
  const clients = new ClientMessages();
  clients.posted(posted(1, 0, "a"));
  clients.posted(posted(2, 5, "b"));
  expect(methods(clients.due(0))).toEqual(["a"]);
  expect(methods(clients.due(4))).toEqual([]);
  expect(methods(clients.due(5))).toEqual(["b"]);
  expect(clients.last).toBe(2);
});

test("a message of this browser is logged once, whichever way comes first", () => {
  const clients = new ClientMessages();
  expect(clients.isNew({ jsonrpc: "2.0", method: "own" })).toBe(true);
  clients.posted(posted(1, 0, "own"));
  clients.posted(posted(2, 0, "other tab"));
  expect(methods(clients.due(0))).toEqual(["other tab"]);
  expect(clients.isNew({ jsonrpc: "2.0", method: "other tab" })).toBe(false);
  // The same message, sent a second time.
  expect(clients.isNew({ jsonrpc: "2.0", method: "own" })).toBe(true);
});

test("what a restored log already has is not added again", () => {
  const clients = new ClientMessages();
  clients.restart(7);
  expect(clients.isNew({ jsonrpc: "2.0", method: "stored" })).toBe(true);
  for (const [number, after, method] of [
    [1, 3, "before"],
    [2, 7, "stored"],
    [3, 7, "new"],
  ] as const)
    clients.posted(posted(number, after, method));
  clients.posted({ number: 4, after: 7, timeMs: 1, message: null });
  expect(methods(clients.due(7))).toEqual(["new"]);
});
