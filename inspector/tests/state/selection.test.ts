/** Which panels a page has. */

import { expect, test } from "vitest";
import { panelShown, panelsOf } from "../../src/state/selection";

test("a page without a conversation has no panels about one", () => {
  expect(panelsOf({ page: "session", id: "s" })).toContain("Events");
  for (const page of ["home", "inbox", "compare"] as const) {
    expect(panelsOf({ page })).not.toContain("Events");
    expect(panelsOf({ page })).not.toContain("Timeline");
    expect(panelShown({ page }, "Timeline")).toBe("Files");
    expect(panelShown({ page }, "Agents")).toBe("Agents");
  }
});
