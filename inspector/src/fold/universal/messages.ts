/** Messages and thoughts: chunks that belong together become one item. */

import { asText, type JsonObject } from "../../json";
import { blockPart, blockText } from "./content";
import { textOf, type Item, type Items } from "./items";
import { itemFacts, reasoningVisibility, type ItemFacts } from "./meta";
import type { ItemStatus, Part, UniversalItem } from "./universalEvent";

export type Slot = "assistant" | "thought" | "user";

export const SLOT_OF_UPDATE: Record<string, Slot> = {
  agent_message_chunk: "assistant",
  agent_thought_chunk: "thought",
  user_message_chunk: "user",
};

/** ACP v2: the updates that replace a message. */
export const SLOT_OF_WHOLE: Record<string, Slot> = {
  agent_message: "assistant",
  agent_thought: "thought",
  user_message: "user",
};

interface OpenMessage {
  item: Item;
  messageId: string | null;
  visibility: "public" | "private" | null;
  parts: Part[];
  pieces: string[];
  /** The text of the deltas, if the message was replaced and they differ from its content. */
  said: string | null;
}

export class Messages {
  private readonly open = new Map<Slot, OpenMessage>();

  constructor(private readonly items: Items) {}

  get openAssistantId(): string | null {
    return this.open.get("assistant")?.item.item_id ?? null;
  }

  chunk(slot: Slot, update: JsonObject, block: JsonObject): void {
    const text = blockText(block);
    const facts = itemFacts(update);
    // Some agents open every message with an empty chunk, also those that stay empty.
    if (text === "" && !facts.starts && facts.itemId === null) return;
    this.endRuns(slot);
    const message = this.messageFor(slot, update, facts);
    add(message, block);
    if (text === null) return;
    if (message.said !== null) message.said += text;
    this.items.delta(message.item, text);
  }

  /** Replace the content of the message with this `messageId` (ACP v2); what it adds is a delta. */
  replace(slot: Slot, update: JsonObject, blocks: JsonObject[]): void {
    this.endRuns(slot);
    const message = this.messageFor(slot, update, itemFacts(update));
    const said = message.said ?? textOf(contentOf(message));
    message.parts = [];
    message.pieces = [];
    for (const block of blocks) add(message, block);
    const text = textOf(contentOf(message));
    message.said = text.startsWith(said) ? null : said;
    if (message.said === null && text !== said) this.items.delta(message.item, text.slice(said.length));
  }

  /** Complete the messages that a tool call or another kind of message ends: those without a `messageId`. */
  endRuns(keep?: Slot): void {
    for (const [slot, message] of [...this.open]) {
      if (slot !== keep && message.messageId === null) this.close(slot, "completed");
    }
  }

  closeAll(status: ItemStatus): void {
    for (const slot of [...this.open.keys()]) this.close(slot, status);
  }

  /** Complete the open message that `final` names with its content. */
  finish(final: UniversalItem): boolean {
    for (const [slot, message] of this.open) {
      const { item } = message;
      const named = final.native_item_id !== null && final.native_item_id === item.native_item_id;
      if (final.item_id !== item.item_id && !named) continue;
      this.open.delete(slot);
      const [said, whole] = [textOf(contentOf(message)), textOf(final.content)];
      if (whole.startsWith(said) && whole !== said) this.items.delta(item, whole.slice(said.length), true);
      this.items.complete(
        item,
        final.content.length > 0 ? final.content : contentOf(message),
        final.status,
        false,
      );
      return true;
    }
    return false;
  }

  private messageFor(slot: Slot, update: JsonObject, facts: ItemFacts): OpenMessage {
    const messageId = asText(update.messageId);
    const current = this.open.get(slot);
    if (current) {
      const another = facts.itemId !== null && facts.itemId !== current.item.item_id;
      if (!facts.starts && !another && messageId === current.messageId) return current;
      this.close(slot, "completed");
    }
    const role = slot === "user" ? "user" : "assistant";
    const item = this.items.create("message", role, { facts, nativeItemId: messageId });
    const visibility = slot === "thought" ? reasoningVisibility(update) : null;
    const message: OpenMessage = { item, messageId, visibility, parts: [], pieces: [], said: null };
    this.open.set(slot, message);
    this.items.start(item, visibility === null ? [] : [{ type: "reasoning", text: "", visibility }], true);
    return message;
  }

  private close(slot: Slot, status: ItemStatus): void {
    const message = this.open.get(slot)!;
    this.open.delete(slot);
    this.items.complete(message.item, contentOf(message), status, true);
  }
}

function add(message: OpenMessage, block: JsonObject): void {
  const text = blockText(block);
  if (text !== null) message.pieces.push(text);
  else {
    message.parts.push(...textPart(message), blockPart(block));
    message.pieces = [];
  }
}

function contentOf(message: OpenMessage): Part[] {
  return [...message.parts, ...textPart(message)];
}

function textPart({ pieces, visibility }: OpenMessage): Part[] {
  if (pieces.length === 0) return [];
  const text = pieces.join("");
  return [visibility === null ? { type: "text", text } : { type: "reasoning", text, visibility }];
}
