/** Requests as curl and as Python. */

import { expect, test } from "vitest";
import { asCurl, asPython } from "../../src/panels/snippets";

const request = {
  id: 1,
  method: "POST",
  url: "http://h/v1/acp/x?agent=mock",
  headers: { accept: "a/b" },
  body: `{"it's":"\\n"}`,
  startedAt: 0,
};

test("a request as curl quotes its body and names no token", () => {
  expect(asCurl(request, true)).toBe(
    `curl -X POST 'http://h/v1/acp/x?agent=mock' \\\n  -H "Authorization: Bearer $SANDBOX_AGENT_TOKEN" \\\n  -H 'accept: a/b' \\\n  --data '{"it'\\''s":"\\n"}'`,
  );
});

test("a request as Python is a whole program", () => {
  const program = asPython(request, true);
  expect(program).toContain("import httpx");
  expect(program).toContain(`content = "{\\"it's\\":\\"\\\\n\\"}"`);
  expect(program).toContain("os.environ['SANDBOX_AGENT_TOKEN']");
});
