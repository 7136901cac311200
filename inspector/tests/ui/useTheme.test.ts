/** The theme button. */

import { expect, test } from "vitest";
import { nextTheme } from "../../src/ui/hooks/useTheme";

// clauses: inspector-42
test("each press of the theme button changes what is seen", () => {
  expect(["system", "dark", "light"].map((name) => nextTheme(name, false))).toEqual([
    "dark",
    "light",
    "system",
  ]);
  expect(["system", "light", "dark"].map((name) => nextTheme(name, true))).toEqual([
    "light",
    "dark",
    "system",
  ]);
});
