/** A thought of the agent: its beginning, and all of it on demand. */

import { lexer } from "marked";
import { useMemo, useState } from "react";
import type { MessageItem } from "../../fold/chat/conversation";
import { markdownTokens } from "../../markdown/MarkdownBlock";
import { Icon } from "../../ui/Icon";

const COLLAPSED_CHARS = 400;
/** A longer thought is shown as plain text: reading it as Markdown in every frame takes too long. */
const MARKDOWN_CHARS = 20_000;

export function Thought({ item }: { item: MessageItem }) {
  const [open, setOpen] = useState(false);
  const long = item.text.length > COLLAPSED_CHARS;
  const shown = open || !long ? item.text : `${item.text.slice(0, COLLAPSED_CHARS)}…`;
  const tokens = useMemo(() => (shown.length > MARKDOWN_CHARS ? undefined : lexer(shown)), [shown]);
  return (
    <div className="thought">
      <div className="thought-head">
        <Icon name="brain" size={14} /> Thought
        {long && (
          <button type="button" className="link-button" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? "Show less" : "Show all"}
          </button>
        )}
      </div>
      <div className="thought-text">
        {tokens ? markdownTokens(tokens) : <p className="verbatim">{shown}</p>}
      </div>
    </div>
  );
}
