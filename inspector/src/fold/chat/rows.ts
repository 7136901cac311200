/**
 * The conversation as rows for the virtual list. A message has one row per Markdown block, and consecutive
 * notes share one row, so that the page stays small however long the conversation is. The user's own text is
 * shown as it was typed.
 */

import { readBlocks, type Block, type BlockList } from "../../markdown/blocks";
import { verbatimPieces } from "../../markdown/verbatim";
import type { Item, MessageItem, NoteItem } from "./conversation";

/** A part of a message: Markdown of the agent, or text of the user. */
type RowPart = Block | { type: "verbatim"; text: string };

export type Row =
  | {
      type: "block";
      key: string;
      item: MessageItem;
      block: RowPart | undefined;
      first: boolean;
      last: boolean;
    }
  | { type: "item"; key: string; item: Item }
  | { type: "notes"; key: string; notes: NoteItem[] };

interface MessageRows {
  item: MessageItem;
  blocks: BlockList | undefined;
  rows: Row[];
}

/** Builds rows again only from the first changed item on, and reads only the grown end of a message. */
export class RowBuilder {
  private rows: readonly Row[] = [];
  /** Number of rows before each item. */
  private rowStarts: number[] = [];
  private readonly messages = new Map<string, MessageRows>();

  build(items: readonly Item[], firstChanged: number): readonly Row[] {
    if (firstChanged >= items.length) return this.rows;
    let start = Math.min(firstChanged, this.rowStarts.length);
    // A note shares a row with the notes before it.
    while (isInfo(items[start - 1])) start -= 1;
    const rows = this.rows.slice(0, this.rowStarts[start] ?? this.rows.length);
    this.rowStarts.length = start;
    for (let index = start; index < items.length; index += 1) {
      const item = items[index]!;
      const before = rows.at(-1);
      if (isInfo(item)) {
        const joins = before?.type === "notes";
        this.rowStarts.push(joins ? rows.length - 1 : rows.length);
        if (joins) before.notes.push(item);
        else rows.push({ type: "notes", key: `notes-${item.key}`, notes: [item] });
        continue;
      }
      this.rowStarts.push(rows.length);
      if (item.kind === "message") for (const row of this.messageRows(item)) rows.push(row);
      else rows.push({ type: "item", key: item.key, item });
    }
    this.rows = rows;
    return rows;
  }

  /** Index of the first row of an item. */
  rowOf(item: Item): number {
    return this.rowStarts[Number(item.key)] ?? -1;
  }

  private messageRows(item: MessageItem): Row[] {
    const known = this.messages.get(item.key);
    if (known?.item === item) return known.rows;
    const grown = known && item.text.startsWith(known.item.text.slice(0, 64));
    const blocks = item.role === "user" ? undefined : readBlocks(item.text, grown ? known.blocks : undefined);
    const parts = blocks ? [...blocks.done, ...blocks.tail] : verbatimPieces(item.text);
    const list: (RowPart | undefined)[] = parts.length > 0 ? parts : [undefined];
    const rows = list.map((block, index): Row => {
      const [first, last] = [index === 0, index === list.length - 1];
      const before = known?.rows[index];
      // The same row object for an unchanged block, so that memoised components skip it.
      const unchanged = before?.type === "block" && before.block === block && !before.last && !last && !first;
      return unchanged ? before : { type: "block", key: `${item.key}.${index}`, item, block, first, last };
    });
    this.messages.set(item.key, { item, blocks, rows });
    return rows;
  }
}

function isInfo(item: Item | undefined): item is NoteItem {
  return item?.kind === "note" && item.level === "info";
}
