/** The keys of the options of a card. */

import { expect, test } from "vitest";
import { optionIndex, optionKey } from "../../src/conversation/requests/optionKeys";

// clauses: inspector-12
test("every option of a card has a key of its own", () => {
  expect([0, 8, 9, 34, 35].map(optionKey)).toEqual(["1", "9", "a", "z", ""]);
  expect(optionIndex("b")).toBe(10);
  expect(optionIndex("Enter")).toBe(-1);
});
