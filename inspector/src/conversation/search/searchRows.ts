/** Finds text in the rows of a conversation, also in those that are not in the page. */

import type { Item, NoteItem } from "../../fold/chat/conversation";
import type { Row } from "../../fold/chat/rows";
import { jsonText } from "../../json";

/** Indexes of the rows that contain the text, in order. */
export function searchRows(rows: readonly Row[], text: string): number[] {
  const wanted = text.trim().toLowerCase();
  if (wanted === "") return [];
  const found: number[] = [];
  rows.forEach((row, index) => {
    if (rowText(row).toLowerCase().includes(wanted)) found.push(index);
  });
  return found;
}

function rowText(row: Row): string {
  if (row.type === "notes") return row.notes.map(noteText).join("\n");
  if (row.type === "item") return itemText(row.item);
  const { block } = row;
  if (!block) return "";
  if (block.type === "token") return block.token.raw;
  return block.type === "item" ? block.item.raw : block.text;
}

function noteText(note: NoteItem): string {
  return `${note.label} ${note.detail ?? ""}`;
}

function itemText(item: Item): string {
  switch (item.kind) {
    case "thought":
    case "message":
      return item.text;
    case "note":
      return noteText(item);
    case "tool":
      return [
        item.title,
        item.status,
        ...item.locations.map((place) => place.path),
        jsonText(item.rawInput),
        JSON.stringify(item.content),
        item.terminal?.text ?? "",
      ].join("\n");
    case "plan":
      return item.entries.map((entry) => entry.content).join("\n");
    case "request":
      return `${item.request.title} ${item.answer ?? ""}`;
    case "turn-end":
      return item.stopReason;
    default:
      return "";
  }
}
