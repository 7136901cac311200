/**
 * The conversation as rows for the virtual list. Long messages become one row per Markdown block, and
 * consecutive notes one row together, so that the page stays small however long the conversation is.
 */

import { readBlocks, type Block, type BlockList } from "../markdown/blocks";
import type { Item, MessageItem, NoteItem } from "./types";

export type Row =
  | { type: "block"; key: string; item: MessageItem; block: Block | undefined; first: boolean; last: boolean }
  | { type: "item"; key: string; item: Item }
  | { type: "notes"; key: string; notes: NoteItem[] };

/** Remembers the blocks of each message, so that only the growing end is read again. */
export class RowBuilder {
  private readonly cache = new Map<string, { item: MessageItem; blocks: BlockList; rows: Row[] }>();

  rows(items: readonly Item[]): Row[] {
    const rows: Row[] = [];
    let notes: NoteItem[] = [];
    const flush = () => {
      if (notes.length > 0) rows.push({ type: "notes", key: `notes-${notes[0]!.key}`, notes });
      notes = [];
    };
    for (const item of items) {
      if (item.kind === "note" && item.level === "info") {
        notes.push(item);
        continue;
      }
      flush();
      if (item.kind === "message") for (const row of this.messageRows(item)) rows.push(row);
      else rows.push({ type: "item", key: item.key, item });
    }
    flush();
    return rows;
  }

  private messageRows(item: MessageItem): Row[] {
    const known = this.cache.get(item.key);
    if (known?.item === item) return known.rows;
    const blocks = readBlocks(
      item.text,
      known && item.text.startsWith(known.item.text.slice(0, 64)) ? known.blocks : undefined,
    );
    const list: (Block | undefined)[] = [...blocks.done, ...blocks.tail];
    if (list.length === 0) list.push(undefined);
    const rows = list.map((block, index): Row => {
      const [first, last] = [index === 0, index === list.length - 1];
      const before = known?.rows[index];
      // The same row object for an unchanged block: memoised components then skip it.
      if (
        before?.type === "block" &&
        before.block === block &&
        before.first === first &&
        before.last === last &&
        !last &&
        !first
      )
        return before;
      return { type: "block", key: `${item.key}.${index}`, item, block, first, last };
    });
    this.cache.set(item.key, { item, blocks, rows });
    return rows;
  }
}
