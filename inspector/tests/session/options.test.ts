/** Config options of a session. */

import { expect, test } from "vitest";
import { selectOptions } from "../../src/session/options";

test("the older modes are an option like the others", () => {
  const modes = { currentModeId: "a", availableModes: [{ id: "a", name: "A" }] };
  expect(selectOptions({ modes, configOptions: [] })).toMatchObject([
    { category: "mode", currentValue: "a" },
  ]);
});
