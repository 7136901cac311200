/** Earlier prompts of the conversation for the arrow keys, newest first. */

import type { Item } from "../fold/chat/conversation";

export function earlierPrompts(items: readonly Item[]): string[] {
  const texts = items
    .filter((item) => item.kind === "message" && item.role === "user")
    .map((item) => (item.kind === "message" ? item.text : ""))
    .filter((text) => text !== "");
  return [...new Set(texts.reverse())];
}
