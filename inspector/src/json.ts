/** JSON values, and readers that return a default instead of throwing when a value has another shape. */

export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject {
  [key: string]: Json | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectAt(value: unknown, key: string): JsonObject | undefined {
  const found = isObject(value) ? value[key] : undefined;
  return isObject(found) ? found : undefined;
}

export function textAt(value: unknown, key: string): string | undefined {
  const found = isObject(value) ? value[key] : undefined;
  return typeof found === "string" ? found : undefined;
}

export function numberAt(value: unknown, key: string): number | undefined {
  const found = isObject(value) ? value[key] : undefined;
  return typeof found === "number" ? found : undefined;
}

export function listAt(value: unknown, key: string): Json[] {
  const found = isObject(value) ? value[key] : undefined;
  return Array.isArray(found) ? found : [];
}

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

/** The fields of this product in an ACP `_meta` object. */
export function productMeta(value: Json | undefined): JsonObject {
  return asObject(asObject(asObject(value)._meta)["sandboxagent.dev"]);
}

/** A value as text for display: a string as it is, anything else as JSON. */
export function plainText(value: Json | undefined): string {
  return typeof value === "string" ? value : jsonText(value);
}

/** Compact JSON with sorted keys, the canonical form of the Python client library. */
export function jsonText(value: Json | undefined): string {
  if (Array.isArray(value)) return `[${value.map(jsonText).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const keys = Object.keys(value)
    .filter((key) => value[key] !== undefined)
    .sort(byCodePoint);
  return `{${keys.map((key) => `${JSON.stringify(key)}:${jsonText(value[key])}`).join(",")}}`;
}

/** JavaScript sorts strings by UTF-16 units, Python by code points. */
export function byCodePoint(a: string, b: string): number {
  const [left, right] = [[...a], [...b]];
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const difference = left[index]!.codePointAt(0)! - right[index]!.codePointAt(0)!;
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

export function parseJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
