/** Times as the page writes them. */

import { expect, test } from "vitest";
import { duration, since } from "../../src/ui/format";

test.each([
  [0, "0 ms"],
  [999.4, "999 ms"],
  [999.6, "1.0 s"],
  [59_940, "59.9 s"],
  [59_960, "1 min 0 s"],
  [119_700, "2 min 0 s"],
  [125_000, "2 min 5 s"],
])("%d ms is %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

test("the day is named unless it is today", () => {
  const noon = new Date(2026, 2, 1, 12, 5).getTime();
  expect(since(noon, noon + 3_600_000)).toBe("12:05");
  expect(since(noon, noon + 86_400_000)).toBe(`${new Date(noon).toLocaleDateString()} 12:05`);
});
