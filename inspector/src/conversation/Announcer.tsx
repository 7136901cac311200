/** Tells screen readers what matters: questions, the end of a turn, errors. Not every chunk of text. */

import type { Conversation, Item } from "./types";

export function Announcer({ conversation }: { conversation: Conversation }) {
  const last = conversation.items.findLast((item) => words(item) !== undefined);
  return (
    <div className="visually-hidden" aria-live="polite">
      {last && words(last)}
    </div>
  );
}

function words(item: Item): string | undefined {
  if (item.kind === "request" && item.state === "pending") return `The agent asks: ${item.request.title}`;
  if (item.kind === "turn-end") return `The turn ended: ${item.stopReason}`;
  if (item.kind === "note" && item.level === "error") return item.label;
  return undefined;
}
