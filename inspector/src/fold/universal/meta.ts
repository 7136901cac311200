/** What this product and agents put into ACP's `_meta`: facts about items, turns and tools, kept envelopes. */

import { asInteger, asObject, asText, byCodePoint, isObject, productMeta, type JsonObject } from "../../json";

const KINDS = ["message", "tool_call", "tool_result", "system", "status", "unknown"];
const ROLES = ["user", "assistant", "system", "tool"];

export interface LegacyEvent {
  eventId: string | null;
  sequence: number | null;
  source: string | null;
  synthetic: boolean | null;
  nativeSessionId: string | null;
}

export interface ItemFacts {
  itemId: string | null;
  nativeItemId: string | null;
  parentId: string | null;
  kind: string | null;
  role: string | null;
  starts: boolean;
}

export function reasoningVisibility(update: JsonObject): "public" | "private" {
  const root = asObject(update._meta);
  const key = "sandbox-agent/reasoningVisibility";
  const value = key in root ? root[key] : productMeta(update).reasoningVisibility;
  return value === "private" ? "private" : "public";
}

export function turnIdOf(params: JsonObject): string | null {
  const { turn } = productMeta(params);
  return asText(turn) ?? asText(asObject(turn).turn_id) ?? asText(asObject(turn).turnId);
}

export function itemFacts(holder: JsonObject): ItemFacts {
  const facts: JsonObject = { ...asObject(holder._meta), ...productMeta(holder) };
  return {
    itemId: asText(facts.item_id),
    nativeItemId: asText(facts.native_item_id),
    parentId: asText(facts.parent_id),
    kind: KINDS.includes(facts.kind as string) ? (facts.kind as string) : null,
    role: ROLES.includes(facts.role as string) ? (facts.role as string) : null,
    starts: facts.phase === "started",
  };
}

/** The kept envelope of a message, from any place where ACP allows `_meta`. */
export function legacyEventOf(message: JsonObject): LegacyEvent | null {
  const params = asObject(message.params);
  const holders = [params, params.update, message.result, asObject(message.error).data, message];
  for (const holder of holders) {
    const found = productMeta(holder).legacyEvent;
    if (!isObject(found)) continue;
    const sequence = asInteger(found.sequence);
    return {
      eventId: asText(found.eventId),
      sequence: sequence !== null && sequence <= Number.MAX_SAFE_INTEGER ? sequence : null,
      source: found.source === "agent" || found.source === "daemon" ? found.source : null,
      synthetic: typeof found.synthetic === "boolean" ? found.synthetic : null,
      nativeSessionId: asText(found.nativeSessionId),
    };
  }
  return null;
}

/** The tool's own name, at the root of `_meta` or inside an agent's namespace. */
export function toolNameOf(holder: JsonObject): string | null {
  const root = asObject(holder._meta);
  for (const place of [
    root,
    ...Object.keys(root)
      .sort(byCodePoint)
      .map((key) => root[key]),
  ]) {
    const name = asText(asObject(place).toolName) ?? asText(asObject(place).tool_name);
    if (name) return name;
  }
  return null;
}
