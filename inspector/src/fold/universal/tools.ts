/** Tool calls: one item for the call, a second one for its result. */

import { asText, isObject, productMeta, type Json, type JsonObject } from "../../json";
import { readSnapshot, type Items } from "./items";
import { itemFacts } from "./meta";
import { diffsOf, ToolCall } from "./toolCall";
import type { ItemStatus, UniversalItem } from "./universalEvent";

export class Tools {
  private readonly tools = new Map<string, ToolCall>();
  private turn = 0;
  /** Diffs of permission requests for calls that come later. */
  private readonly askedDiffs = new Map<string, Json[]>();
  /** Calls that the user refused before the agent announced them, which it may still do. */
  private readonly refused = new Map<string, JsonObject>();

  constructor(private readonly items: Items) {}

  /** What earlier updates said about a call. */
  facts(callId: string | null): JsonObject {
    return (callId === null ? undefined : this.tools.get(callId))?.facts() ?? {};
  }

  /** Merge what a permission request says about a call; some agents ask before they announce it. */
  requested(toolCall: JsonObject): void {
    const callId = asText(toolCall.toolCallId) ?? "";
    const tool = this.tools.get(callId);
    const diffs = diffsOf(toolCall);
    this.showRefused(callId);
    this.refused.delete(callId);
    if (!tool && diffs.length > 0) this.askedDiffs.set(callId, diffs);
    if (!tool || tool.completed) return;
    const before = JSON.stringify(tool.callContent());
    tool.request(toolCall);
    const now = tool.callContent();
    if (JSON.stringify(now) !== before) this.items.update(tool.item, now, true);
  }

  /** A call was not allowed. */
  rejected(toolCall: JsonObject, byChoice: boolean): void {
    const callId = asText(toolCall.toolCallId);
    const known = callId === null ? undefined : this.tools.get(callId);
    if (known) {
      if (!known.completed) known.rejected = true;
    } else if (byChoice && callId !== null && this.open().length === 0) {
      this.refused.set(callId, { ...toolCall, status: undefined });
    }
  }

  /** Add a failed item for each refused call except `announced`: the agent has gone on without it. */
  showRefused(announced: string | null = null): void {
    for (const [callId, toolCall] of [...this.refused]) {
      if (callId === announced) continue;
      this.create(toolCall, callId, null, true);
      this.complete(this.tools.get(callId)!, "failed", { synthetic: true, withResult: false });
    }
  }

  call(update: JsonObject, callId: string, parentId: string | null): void {
    this.showRefused(callId);
    const known = this.tools.get(callId);
    if (!known || (known.completed && known.turn < this.turn)) this.create(update, callId, parentId, false);
    else this.apply(known, update);
  }

  update(update: JsonObject, callId: string, parentId: string | null): void {
    this.showRefused(callId);
    const known = this.tools.get(callId);
    if (known) this.apply(known, update);
    else this.create(update, callId, parentId, true);
  }

  closeAll(status: ItemStatus): void {
    this.showRefused();
    for (const tool of this.open()) {
      const ended = tool.rejected ? "failed" : status;
      this.complete(tool, ended, { synthetic: true, withResult: tool.hasOutput() });
    }
    this.turn += 1;
    this.askedDiffs.clear();
  }

  finish(final: UniversalItem): boolean {
    const tool = this.open().find(
      (one) => final.item_id === one.item.item_id || final.item_id === one.callId,
    );
    if (!tool) return false;
    this.items.complete(
      tool.item,
      final.content.length > 0 ? final.content : tool.callContent(),
      final.status,
      false,
    );
    tool.finish();
    return true;
  }

  private open(): ToolCall[] {
    return [...this.tools.values()].filter((tool) => !tool.completed);
  }

  private create(update: JsonObject, callId: string, parentId: string | null, synthetic: boolean): void {
    const item = this.items.create("tool_call", "assistant", {
      facts: itemFacts(update),
      nativeItemId: callId,
      parentId,
    });
    const tool = new ToolCall(callId, item, this.turn);
    this.tools.set(callId, tool);
    tool.askedFor(this.askedDiffs.get(callId) ?? []);
    this.askedDiffs.delete(callId);
    tool.rejected = this.refused.delete(callId);
    const status = finalStatus(update);
    if (status) tool.merge(update, true);
    else tool.announce(update);
    this.items.start(item, tool.callContent(), synthetic);
    const output = tool.output();
    if (!status && output) this.items.delta(item, output);
    if (status) this.complete(tool, status, { snapshot: snapshotOf(update) });
  }

  private apply(tool: ToolCall, update: JsonObject): void {
    if (tool.completed) {
      this.addLateUpdate(tool, update);
      return;
    }
    const status = finalStatus(update);
    if (status) {
      tool.merge(update, true);
      this.complete(tool, status, { snapshot: snapshotOf(update) });
      return;
    }
    const [content, output] = [JSON.stringify(tool.callContent()), tool.output()];
    tool.merge(update);
    if (JSON.stringify(tool.callContent()) !== content)
      this.items.update(tool.item, tool.callContent(), false);
    const grown = tool.output();
    if (grown !== output && grown.startsWith(output)) this.items.delta(tool.item, grown.slice(output.length));
  }

  private complete(
    tool: ToolCall,
    status: ItemStatus,
    {
      synthetic = false,
      withResult = true,
      snapshot = null,
    }: { synthetic?: boolean; withResult?: boolean; snapshot?: UniversalItem | null },
  ): void {
    const content = snapshot && snapshot.content.length > 0 ? snapshot.content : tool.callContent();
    this.items.complete(tool.item, content, status, synthetic);
    if (withResult) {
      const result = this.items.create("tool_result", "tool", {
        nativeItemId: tool.callId,
        parentId: tool.item.item_id,
      });
      this.items.addComplete(result, tool.resultContent(), status, synthetic);
    }
    tool.finish();
  }

  /** Add an update that follows a final status as a notice beside the call. */
  private addLateUpdate(tool: ToolCall, update: JsonObject): void {
    tool.merge(update, true);
    tool.finish();
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

function snapshotOf(update: JsonObject): UniversalItem | null {
  const { item } = productMeta(update);
  return isObject(item) ? readSnapshot({ item_id: "", kind: "tool_call", ...item }) : null;
}
