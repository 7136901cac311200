/** Answers of forms are checked by their schema. */

import { expect, test } from "vitest";
import type { Question } from "../../src/fold/agentRequest";
import { answerProblem } from "../../src/fold/answerProblem";
import { readForm } from "../../src/fold/form";
import type { JsonObject } from "../../src/json";

function field(schema: JsonObject, required = false): Question {
  const requestedSchema = { properties: { it: schema }, required: required ? ["it"] : [] };
  return readForm({ message: "Form", requestedSchema }).questions[0]!;
}

test.each([
  [{ type: "integer", minimum: 1, maximum: 9 }, "99", "At most 9"],
  [{ type: "integer", minimum: 1, maximum: 9 }, "0", "At least 1"],
  [{ type: "integer" }, "1.5", "Not a whole number"],
  [{ type: "number" }, "1.5", undefined],
  [{ type: "string", minLength: 3 }, "ab", "At least 3 characters"],
  [{ type: "string", maxLength: 3 }, "äöüß", "At most 3 characters"],
  [{ type: "string", pattern: "^a+$" }, "b", "Does not match ^a+$"],
  [{ type: "string", pattern: "(" }, "b", undefined],
  [{ type: "string", format: "email" }, "nobody", "Not a valid email"],
  [{ type: "string", format: "uri" }, "https://a.example", undefined],
  [{ type: "string", format: "date" }, "2026-13-01", "Not a valid date"],
] as [JsonObject, string, string | undefined][])("%j with %s", (schema, value, problem) => {
  expect(answerProblem(field(schema), [value])).toBe(problem);
});

// clauses: inspector-09
test("required fields, lists and their sizes", () => {
  const list = { type: "array", minItems: 2, maxItems: 3, items: { enum: ["a", "b", "c", "d"] } };
  expect(answerProblem(field(list), [])).toBeUndefined();
  expect(answerProblem(field(list, true), [])).toBe("Choose at least one");
  expect(answerProblem(field(list), ["a"])).toBe("Choose at least 2");
  expect(answerProblem(field(list), ["a", "b", "c", "d"])).toBe("Choose at most 3");
  expect(answerProblem(field({ type: "string" }, true), [])).toBe("An answer is needed");
});

// clauses: inspector-09
test("defaults and descriptions are read", () => {
  const asked = field({ type: "integer", default: 3, title: "Count", description: "How many" });
  expect(asked).toMatchObject({ defaults: ["3"], description: "How many" });
});
