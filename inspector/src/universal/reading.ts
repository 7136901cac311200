/** Careful reading of JSON whose shape nobody promised. `jsonText` sorts keys, as the client library does. */

import { isObject, type Json, type JsonObject } from "../json";

export function asObject(value: Json | undefined): JsonObject {
  return isObject(value) ? value : {};
}

export function asList(value: Json | undefined): Json[] {
  return Array.isArray(value) ? value : [];
}

/** The value if it is a string that is not empty. */
export function asText(value: Json | undefined): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

export function asInteger(value: Json | undefined): number | null {
  return typeof value === "number" && Number.isInteger(value) ? value : null;
}

/** Compact JSON with sorted keys. */
export function jsonText(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const keys = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort(byCodePoint);
  return `{${keys.map((key) => `${JSON.stringify(key)}:${jsonText(value[key])}`).join(",")}}`;
}

/** JavaScript sorts by UTF-16 units, Python by code points. */
export function byCodePoint(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const difference = left[index]!.codePointAt(0)! - right[index]!.codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
