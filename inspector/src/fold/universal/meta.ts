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

/** The tool's own name: ACP's `name`, else what the agent has in `_meta`, up to two levels down. */
export function toolNameOf(toolCall: JsonObject): string | null {
  const stated = asText(toolCall.name);
  if (stated !== null) return stated;
  const root = asObject(toolCall._meta);
  const inner = places(root);
  const deeper = inner.flatMap(([, place]) => places(place));
  for (const [key, place] of [["", root] as const, ...inner, ...deeper]) {
    // Some agents have an object for the tool, such as `x.ai/tool`, with its name in it.
    const own = key.toLowerCase().includes("tool") ? asText(place.name) : null;
    const name = asText(place.toolName) ?? asText(place.tool_name) ?? own;
    if (name !== null) return name;
  }
  return null;
}

function places(holder: JsonObject): [string, JsonObject][] {
  const keys = Object.keys(holder).sort(byCodePoint);
  return keys.map((key) => [key, asObject(holder[key])]);
}
