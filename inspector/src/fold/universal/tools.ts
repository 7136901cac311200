/** Tool calls: one item for the call, a second one for its result. */

import {
  asList,
  asObject,
  asText,
  isObject,
  jsonText,
  productMeta,
  type Json,
  type JsonObject,
} from "../../json";
import { blockPart, blockText, diffPart } from "./content";
import { readSnapshot, type Item, type Items } from "./items";
import { itemFacts, toolNameOf } from "./meta";
import type { ItemStatus, Part, UniversalItem } from "./universalEvent";

const MERGED = ["title", "kind", "content", "locations", "rawInput", "rawOutput"];

class Tool {
  name: string | null = null;
  fields: JsonObject = {};
  completed = false;

  constructor(
    readonly callId: string,
    readonly item: Item,
    readonly turn: number,
  ) {}

  merge(update: JsonObject): void {
    for (const key of MERGED)
      if (update[key] !== undefined && update[key] !== null) this.fields[key] = update[key];
    this.name = toolNameOf(update) ?? this.name;
  }

  callContent(): Part[] {
    const name = this.name ?? asText(this.fields.title) ?? "";
    const written = "rawInput" in this.fields ? jsonText(this.fields.rawInput) : "{}";
    return [{ type: "tool_call", name, arguments: written, call_id: this.callId }];
  }

  text(): string {
    const texts = asList(this.fields.content).map((content) => blockText(asObject(content).content));
    return texts.filter((text) => text !== null).join("\n");
  }

  hasOutput(): boolean {
    return "rawOutput" in this.fields || asList(this.fields.content).length > 0;
  }

  resultContent(): Part[] {
    const raw = this.fields.rawOutput;
    const output = raw === undefined ? this.text() : typeof raw === "string" ? raw : jsonText(raw);
    const parts: Part[] = [{ type: "tool_result", call_id: this.callId, output }];
    for (const content of asList(this.fields.content)) {
      const part = outputPart(content);
      if (part) parts.push(part);
    }
    if (this.fields.kind === "read") {
      for (const place of asList(this.fields.locations)) {
        const path = asText(asObject(place).path);
        if (path) parts.push({ type: "file_ref", path, action: "read", diff: null });
      }
    }
    return parts;
  }
}

export class Tools {
  private readonly tools = new Map<string, Tool>();
  private turn = 0;

  constructor(private readonly items: Items) {}

  /** What earlier updates said about a call. */
  facts(callId: string | null): { kind?: Json; toolName?: string | null } {
    const tool = callId === null ? undefined : this.tools.get(callId);
    return tool ? { kind: tool.fields.kind ?? null, toolName: tool.name } : {};
  }

  call(update: JsonObject, callId: string, parentId: string | null): void {
    const known = this.tools.get(callId);
    if (!known || (known.completed && known.turn < this.turn)) this.create(update, callId, parentId, false);
    else this.apply(known, update);
  }

  update(update: JsonObject, callId: string, parentId: string | null): void {
    const known = this.tools.get(callId);
    if (known) this.apply(known, update);
    else this.create(update, callId, parentId, true);
  }

  closeAll(status: ItemStatus): void {
    for (const tool of this.open())
      this.complete(tool, status, { synthetic: true, withResult: tool.hasOutput() });
    this.turn += 1;
  }

  finish(final: UniversalItem): boolean {
    const tool = this.open().find(
      (one) => final.item_id === one.item.item_id || final.item_id === one.callId,
    );
    if (!tool) return false;
    tool.completed = true;
    this.items.complete(
      tool.item,
      final.content.length > 0 ? final.content : tool.callContent(),
      final.status,
      false,
    );
    return true;
  }

  private open(): Tool[] {
    return [...this.tools.values()].filter((tool) => !tool.completed);
  }

  private create(update: JsonObject, callId: string, parentId: string | null, synthetic: boolean): void {
    const item = this.items.create("tool_call", "assistant", {
      facts: itemFacts(update),
      nativeItemId: callId,
      parentId,
    });
    const tool = new Tool(callId, item, this.turn);
    this.tools.set(callId, tool);
    tool.merge(update);
    this.items.start(item, tool.callContent(), synthetic);
    const status = finalStatus(update);
    if (status) this.complete(tool, status, { snapshot: snapshotOf(update) });
  }

  private apply(tool: Tool, update: JsonObject): void {
    if (tool.completed) {
      this.addLateUpdate(tool, update);
      return;
    }
    const before = tool.text();
    tool.merge(update);
    const status = finalStatus(update);
    const after = tool.text();
    if (status) this.complete(tool, status, { snapshot: snapshotOf(update) });
    else if (after !== before && after.startsWith(before))
      this.items.delta(tool.item, after.slice(before.length));
  }

  private complete(
    tool: Tool,
    status: ItemStatus,
    {
      synthetic = false,
      withResult = true,
      snapshot = null,
    }: { synthetic?: boolean; withResult?: boolean; snapshot?: UniversalItem | null },
  ): void {
    tool.completed = true;
    const content = snapshot && snapshot.content.length > 0 ? snapshot.content : tool.callContent();
    this.items.complete(tool.item, content, status, synthetic);
    if (!withResult) return;
    const result = this.items.create("tool_result", "tool", {
      nativeItemId: tool.callId,
      parentId: tool.item.item_id,
    });
    this.items.addComplete(result, tool.resultContent(), status, synthetic);
  }

  /** Add an update that follows a final status as a notice beside the call. */
  private addLateUpdate(tool: Tool, update: JsonObject): void {
    tool.merge(update);
    const note = this.items.create("status", null, {
      nativeItemId: tool.callId,
      parentId: tool.item.item_id,
    });
    const label = asText(update.sessionUpdate) ?? "tool_call_update";
    const detail = asText(update.title) ?? asText(update.status);
    this.items.addComplete(
      note,
      [
        { type: "status", label, detail },
        { type: "json", json: update },
      ],
      "completed",
      false,
    );
  }
}

function finalStatus(update: JsonObject): ItemStatus | null {
  return update.status === "completed" || update.status === "failed" ? update.status : null;
}

function outputPart(content: Json): Part | null {
  const fields = asObject(content);
  if (fields.type === "diff") return diffPart(fields);
  if (fields.type === "content" && isObject(fields.content)) {
    return blockText(fields.content) === null ? blockPart(fields.content) : null;
  }
  return { type: "json", json: content };
}

function snapshotOf(update: JsonObject): UniversalItem | null {
  const { item } = productMeta(update);
  return isObject(item) ? readSnapshot({ item_id: "", kind: "tool_call", ...item }) : null;
}
