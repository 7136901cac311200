/** Checks an answer against the constraints of its field, as its JSON schema states them. */

import type { Question } from "./agentRequest";

/** What is wrong with the answer, in words; undefined if it can be sent. */
export function answerProblem(asked: Question, given: readonly string[]): string | undefined {
  const { limits = {} } = asked;
  if (asked.valueType === "array" || asked.multiple) {
    if (asked.required && given.length === 0) return "Choose at least one";
    if (limits.minItems !== undefined && given.length > 0 && given.length < limits.minItems)
      return `Choose at least ${limits.minItems}`;
    if (limits.maxItems !== undefined && given.length > limits.maxItems)
      return `Choose at most ${limits.maxItems}`;
    return undefined;
  }
  const [value] = given;
  if (value === undefined || value === "") return asked.required ? "An answer is needed" : undefined;
  if (asked.valueType === "integer" || asked.valueType === "number") return numberProblem(asked, value);
  return asked.choices.length > 0 ? undefined : textProblem(asked, value);
}

function numberProblem(asked: Question, value: string): string | undefined {
  const { minimum, maximum } = asked.limits ?? {};
  const number = Number(value);
  if (Number.isNaN(number)) return "Not a number";
  if (asked.valueType === "integer" && !Number.isInteger(number)) return "Not a whole number";
  if (minimum !== undefined && number < minimum) return `At least ${minimum}`;
  return maximum !== undefined && number > maximum ? `At most ${maximum}` : undefined;
}

function textProblem(asked: Question, value: string): string | undefined {
  const { minLength, maxLength, pattern, format } = asked.limits ?? {};
  const length = [...value].length;
  if (minLength !== undefined && length < minLength) return `At least ${minLength} characters`;
  if (maxLength !== undefined && length > maxLength) return `At most ${maxLength} characters`;
  if (pattern !== undefined && !matches(pattern, value)) return `Does not match ${pattern}`;
  return format !== undefined && !hasFormat(format, value) ? `Not a valid ${format}` : undefined;
}

function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, "u").test(value);
  } catch {
    // A pattern of another dialect cannot be checked here; the agent does it.
    return true;
  }
}

const FORMATS: Record<string, (value: string) => boolean> = {
  email: (value) => /^[^\s@]+@[^\s@]+$/.test(value),
  uri: (value) => URL.canParse(value),
  date: (value) => /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value)),
  "date-time": (value) => /^\d{4}-\d{2}-\d{2}[Tt ]/.test(value) && !Number.isNaN(Date.parse(value)),
};

function hasFormat(format: string, value: string): boolean {
  return FORMATS[format]?.(value) ?? true;
}
