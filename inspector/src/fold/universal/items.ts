/** Events of items: every item starts once and completes once, with its deltas in between. */

import { isObject, type Json } from "../../json";
import type { Emitter } from "./emitter";
import type { ItemFacts } from "./meta";
import type { ItemStatus, Part, UniversalItem } from "./universalEvent";

export type Item = Omit<UniversalItem, "content" | "status">;

interface Origin {
  facts?: ItemFacts;
  nativeItemId?: string | null;
  parentId?: string | null;
}

export class Items {
  private readonly given = new Set<string>();

  constructor(private readonly out: Emitter) {}

  create(kind: string, role: string | null, origin: Origin = {}): Item {
    const { facts, nativeItemId = null, parentId = null } = origin;
    return {
      item_id: this.freshId(facts?.itemId ?? null),
      native_item_id: facts?.nativeItemId ?? nativeItemId,
      parent_id: facts?.parentId ?? parentId,
      kind: facts?.kind ?? kind,
      role: facts?.role ?? role,
    };
  }

  start(item: Item, content: Part[], synthetic: boolean): void {
    this.out.emit("item.started", { item: { ...item, content, status: "in_progress" } }, synthetic);
  }

  delta(item: Item, delta: string, synthetic = false): void {
    this.out.emit(
      "item.delta",
      { item_id: item.item_id, native_item_id: item.native_item_id, delta },
      synthetic,
    );
  }

  /** An open item with new content. */
  update(item: Item, content: Part[], synthetic: boolean): void {
    this.out.emit("item.updated", { item: { ...item, content, status: "in_progress" } }, synthetic);
  }

  complete(item: Item, content: Part[], status: ItemStatus, synthetic: boolean): void {
    this.out.emit("item.completed", { item: { ...item, content, status } }, synthetic);
  }

  /** Start and complete an item that is complete at once; the start is always synthetic. */
  addComplete(item: Item, content: Part[], status: ItemStatus, synthetic: boolean): void {
    this.start(item, content, true);
    this.complete(item, content, status, synthetic);
  }

  /** Add a finished item that was never started. */
  addFinished(final: UniversalItem): void {
    const { content, status, ...rest } = final;
    const item = { ...rest, item_id: this.freshId(final.item_id) };
    this.start(item, [], true);
    const text = textOf(content);
    if (final.kind === "message" && text) this.delta(item, text, true);
    this.complete(item, content, status, false);
  }

  /** A used id would start an item twice; ids with the prefix itm_ are reserved for the mapper. */
  private freshId(wanted: string | null): string {
    if (wanted === null || this.given.has(wanted) || wanted.startsWith("itm_")) return this.out.newId("itm");
    this.given.add(wanted);
    return wanted;
  }
}

export function textOf(content: Part[]): string {
  return content.map((part) => (part.type === "text" || part.type === "reasoning" ? part.text : "")).join("");
}

const PART_TYPES: (Json | undefined)[] = [
  "text",
  "json",
  "tool_call",
  "tool_result",
  "file_ref",
  "reasoning",
  "image",
  "status",
];
const STATUSES: Json[] = ["in_progress", "completed", "failed"];

/** A finished item as an agent sends it, or null if it cannot be read. */
export function readSnapshot(value: Json | undefined): UniversalItem | null {
  if (!isObject(value) || typeof value.item_id !== "string") return null;
  const { content = [], status = "completed", kind = "message" } = value;
  const readable = Array.isArray(content) && content.every(isPart) && STATUSES.includes(status);
  if (!readable || typeof kind !== "string") return null;
  const text = (key: string) => (typeof value[key] === "string" ? value[key] : null);
  return {
    item_id: value.item_id,
    native_item_id: text("native_item_id"),
    parent_id: text("parent_id"),
    kind,
    role: text("role"),
    content: content as unknown as Part[],
    status: status as ItemStatus,
  };
}

function isPart(part: Json): boolean {
  return isObject(part) && PART_TYPES.includes(part.type);
}
