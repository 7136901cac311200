/** ACP content as parts of universal items. */

import { asObject, asText, isObject, type Json, type JsonObject } from "../../json";
import { unifiedDiff } from "./unifiedDiff";
import type { Part } from "./universalEvent";

export function blockText(block: Json | undefined): string | null {
  const fields = asObject(block);
  return fields.type === "text" && typeof fields.text === "string" ? fields.text : null;
}

export function blockPart(block: JsonObject): Part {
  const text = blockText(block);
  if (text !== null) return { type: "text", text };
  const uri = asText(block.uri);
  if (block.type === "image" && (uri ?? asText(block.data))) {
    const mime = asText(block.mimeType);
    return { type: "image", path: uri ?? `data:${mime ?? ""}`, mime };
  }
  if (block.type === "resource_link" && uri)
    return { type: "file_ref", path: uriPath(uri), action: "read", diff: null };
  if (block.type === "resource" && isObject(block.resource) && holdsJson(block.resource)) {
    return { type: "json", json: jsonOf(block.resource.text as string) };
  }
  return { type: "json", json: block };
}

function uriPath(uri: string): string {
  if (!uri.startsWith("file://")) return uri;
  const path = uri
    .slice("file://".length)
    .replace(/^[^/?#]*/, "")
    .replace(/[?#].*$/s, "");
  try {
    return decodeURIComponent(path) || uri;
  } catch {
    return path || uri;
  }
}

/** A written or patched file. ACP v2 has the patch itself. */
export function diffPart(content: JsonObject): Part {
  const { path, newText, patch, operation } = content;
  if (typeof path === "string" && typeof patch === "string")
    return { type: "file_ref", path, action: operation === "add" ? "write" : "patch", diff: patch || null };
  const oldText = content.oldText ?? null;
  if (
    typeof path !== "string" ||
    typeof newText !== "string" ||
    (oldText !== null && typeof oldText !== "string")
  ) {
    return { type: "json", json: content };
  }
  const action = oldText === null ? "write" : "patch";
  return { type: "file_ref", path, action, diff: unifiedDiff(path, oldText ?? "", newText) };
}

function holdsJson(resource: JsonObject): boolean {
  const mime = (asText(resource.mimeType) ?? "").split(";")[0]!.trim().toLowerCase();
  return (
    typeof resource.text === "string" &&
    (["application/json", "text/json"].includes(mime) || mime.endsWith("+json"))
  );
}

function jsonOf(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}
