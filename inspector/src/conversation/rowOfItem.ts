/** The first row of an item of the conversation, or -1. */

import type { Row } from "../fold/chat/rows";

export function rowOfItem(rows: readonly Row[], key: string): number {
  return rows.findIndex((row) =>
    row.type === "notes" ? row.notes.some((note) => note.key === key) : row.item.key === key,
  );
}
