/** The history sent to an agent that forgot the conversation, and the requests that are refused. */

import { expect, test } from "vitest";
import type { Item } from "../../src/fold/chat/conversation";
import { promptItem } from "../../src/fold/chat/promptItem";
import { MessageReader } from "../../src/fold/messageReader";
import { replayBlock } from "../../src/fold/replayBlock";
import { unsupportedError } from "../../src/instance/unsupportedError";
import type { Json } from "../../src/json";

function said(role: "user" | "assistant", text: string): Item {
  return { kind: "message", role, text, attachments: [], key: text, n: 0, time: 0 };
}

test("the messages of both sides are replayed in order, and the block is hidden from the conversation", () => {
  const block = replayBlock([said("user", "hi"), said("assistant", "hello")])!;
  expect(block.type === "text" && block.text.split("\n").slice(1)).toEqual([
    '{"role":"user","text":"hi"}',
    '{"role":"assistant","text":"hello"}',
  ]);
  expect(promptItem({ prompt: [block as never, { type: "text", text: "go on" }] })).toMatchObject({
    text: "go on",
  });
});

test("the newest messages of a long history are kept", () => {
  const items = Array.from({ length: 100 }, (_, n) => said("user", `${n} ${"x".repeat(300)}`));
  const block = replayBlock(items)!;
  const text = block.type === "text" ? block.text : "";
  expect(text.length).toBeLessThan(12_300);
  expect(text).toContain('"99 x');
  expect(text).not.toContain('"0 x');
});

test("without messages there is nothing to replay", () => {
  expect(replayBlock([])).toBeUndefined();
});

function refusal(payload: Json) {
  return unsupportedError(new MessageReader().read({ sender: "agent", payload }));
}

test("requests that the page does not serve are refused, those for the user are not", () => {
  expect(refusal({ jsonrpc: "2.0", id: 1, method: "fs/read_text_file", params: {} })).toMatchObject({
    id: 1,
    error: { code: -32601 },
  });
  expect(
    refusal({ jsonrpc: "2.0", id: 2, method: "elicitation/create", params: { mode: "url" } }),
  ).toMatchObject({ error: { code: -32602 } });
  expect(
    refusal({ jsonrpc: "2.0", id: 3, method: "session/request_permission", params: { options: [] } }),
  ).toBeUndefined();
  expect(refusal({ jsonrpc: "2.0", method: "session/update", params: {} })).toBeUndefined();
  expect(refusal({ jsonrpc: "2.0", id: 4, result: {} })).toBeUndefined();
});
