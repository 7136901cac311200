/** The end of a terminal as text. */

import { expect, test } from "vitest";
import { endText } from "../../src/terminals/endText";

test("the end of a process is told by its signal or its code", () => {
  expect(endText({ signal: "SIGTERM" })).toBe("ended by SIGTERM");
  expect(endText({ exitCode: 0 })).toBe("ended with code 0");
  expect(endText({ exitCode: null })).toBe("ended");
});
