/**
 * The queue of prompts: sent one by one, held after a stop, kept over a reload.
 * @vitest-environment happy-dom
 */

import type { PromptResponse } from "@agentclientprotocol/sdk";
import { beforeEach, expect, test } from "vitest";
import { PromptQueue } from "../../src/session/promptQueue";

interface Post {
  text: string;
  end: (stop: string) => Promise<void>;
  fail: () => Promise<void>;
}

let posts: Post[];

function queueOf(id = "s"): PromptQueue {
  return new PromptQueue(id, ({ text }) => {
    let resolve!: (response: PromptResponse) => void;
    let reject!: (error: Error) => void;
    const promise = new Promise<PromptResponse>((...both) => ([resolve, reject] = both));
    const settled = async () => void (await new Promise((done) => setTimeout(done)));
    posts.push({
      text,
      end: (stop) => (resolve({ stopReason: stop } as PromptResponse), settled()),
      fail: () => (reject(new Error("refused")), settled()),
    });
    return promise;
  });
}

function add(queue: PromptQueue, ...texts: string[]): void {
  for (const text of texts) queue.add({ text, attachments: [] });
}

beforeEach(() => {
  posts = [];
  sessionStorage.clear();
});

test("a prompt to an idle agent is sent at once, the next ones when the turn has ended", async () => {
  const queue = queueOf();
  queue.proceed(true, undefined);
  add(queue, "one", "two", "three");
  expect(posts.map((post) => post.text)).toEqual(["one"]);
  await posts[0]!.end("end_turn");
  expect(posts.map((post) => post.text)).toEqual(["one", "two"]);
  expect(queue.state.get().prompts.map((prompt) => prompt.text)).toEqual(["three"]);
});

test.each(["cancelled", "refusal"])("after %s the queue is held until the user goes on", async (stop) => {
  const queue = queueOf();
  queue.proceed(true, undefined);
  add(queue, "one", "two");
  await posts[0]!.end(stop);
  expect([posts.length, queue.state.get().held]).toEqual([1, true]);
  queue.goOn();
  expect(posts.map((post) => post.text)).toEqual(["one", "two"]);
});

test("a refused prompt holds the queue", async () => {
  const queue = queueOf();
  queue.proceed(true, undefined);
  add(queue, "one", "two");
  await posts[0]!.fail();
  expect([posts.length, queue.state.get().held]).toEqual([1, true]);
});

test("while the connection is lost or the process is over, prompts wait and nothing is lost", () => {
  const queue = queueOf();
  add(queue, "one");
  expect(posts).toEqual([]);
  expect(
    queueOf()
      .state.get()
      .prompts.map((prompt) => prompt.text),
  ).toEqual(["one"]);
  queue.proceed(true, undefined);
  expect(posts.map((post) => post.text)).toEqual(["one"]);
  expect(queueOf().state.get().prompts).toEqual([]);
});

// clauses: inspector-26
test("a queued prompt is taken out to be edited or dropped", () => {
  const queue = queueOf();
  add(queue, "one", "two");
  const [first] = queue.state.get().prompts;
  expect(queue.remove(first!.id)?.text).toBe("one");
  expect(queue.state.get().prompts.map((prompt) => prompt.text)).toEqual(["two"]);
});
