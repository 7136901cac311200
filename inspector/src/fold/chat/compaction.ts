/** Compactions of the agent's context: one note each, changed in place by its updates and summary chunks. */

import { isObject, listAt, objectAt, textAt, type JsonObject } from "../../json";
import type { NoteItem } from "./conversation";
import type { ConversationState } from "./conversationState";

export interface Compaction {
  /** Index of its note. */
  index: number;
  summary: string;
  error: string | undefined;
  status: string;
}

export function compaction(state: ConversationState, update: JsonObject): void {
  const id = textAt(update, "compactionId") ?? "";
  const known = state.compactions.get(id);
  const changed = {
    summary: summaryOf(known?.summary ?? "", update),
    error: "error" in update ? textAt(update, "error") : known?.error,
    status: textAt(update, "status") ?? known?.status ?? "in_progress",
  };
  const index = known?.index ?? state.remark("compaction");
  state.compactions.set(id, { index, ...changed });
  const detail = changed.error ?? (changed.summary || changed.status);
  const level = changed.status === "failed" ? "warning" : "info";
  state.replace(index, { ...(state.items[index] as NoteItem), level, detail });
}

/** A chunk is added to the summary, a list replaces it, and null clears it. */
function summaryOf(before: string, update: JsonObject): string {
  if (update.sessionUpdate === "compaction_summary_chunk")
    return before + (textAt(objectAt(update, "content"), "text") ?? "");
  if (!("summary" in update)) return before;
  return listAt(update, "summary")
    .map((block) => (isObject(block) ? (textAt(block, "text") ?? "") : ""))
    .join("");
}
