/** Messages of the stream wait for the answer of a POST, for a second at most. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { DeliveryQueue } from "../../src/instance/deliveryQueue";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("what arrives during a POST follows the message that was posted", async () => {
  const queue = new DeliveryQueue();
  const order: string[] = [];
  let answer = () => {};
  const posted = queue.during(async () => {
    await new Promise<void>((resolve) => (answer = resolve));
    order.push("sent");
  });
  queue.deliver(() => order.push("reaction"));
  expect(order).toEqual([]);
  answer();
  await posted;
  queue.deliver(() => order.push("later"));
  expect(order).toEqual(["sent", "reaction", "later"]);
});

test("a POST without an answer holds the stream for a second only", () => {
  const queue = new DeliveryQueue();
  const order: string[] = [];
  void queue.during(() => new Promise(() => {}));
  queue.deliver(() => order.push("first"));
  vi.advanceTimersByTime(999);
  expect(order).toEqual([]);
  vi.advanceTimersByTime(1);
  queue.deliver(() => order.push("second"));
  expect(order).toEqual(["first", "second"]);
});

test("a POST that fails releases what it held", async () => {
  const queue = new DeliveryQueue();
  const order: string[] = [];
  const posted = queue.during(() => Promise.reject(new Error("refused")));
  queue.deliver(() => order.push("held"));
  await expect(posted).rejects.toThrow("refused");
  expect(order).toEqual(["held"]);
});
