/** Search in the conversation: Ctrl+F opens it while the focus is in the conversation or nowhere. */

import { useEffect, useMemo, useRef, useState } from "react";
import type { Row } from "../../fold/chat/rows";
import { Icon } from "../../ui/Icon";
import { searchRows } from "./searchRows";

export function ConversationSearch({ rows, show }: { rows: readonly Row[]; show: (index: number) => void }) {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const field = useRef<HTMLInputElement>(null);
  const found = useMemo(() => (open ? searchRows(rows, text) : []), [open, rows, text]);

  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || event.key !== "f" || event.defaultPrevented) return;
      event.preventDefault();
      setOpen(true);
      field.current?.select();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);

  const goTo = (index: number) => {
    if (found.length === 0) return;
    const next = (index + found.length) % found.length;
    setAt(next);
    show(found[next]!);
  };
  const close = () => {
    setOpen(false);
    setText("");
    show(-1);
  };
  if (!open) {
    return (
      <button
        type="button"
        className="icon-button search-open"
        aria-label="Search the conversation"
        title="Search the conversation (Ctrl+F)"
        onClick={() => setOpen(true)}
      >
        <Icon name="search" size={14} />
      </button>
    );
  }
  return (
    <div className="conversation-search" role="search">
      <input
        ref={field}
        type="search"
        autoFocus
        aria-label="Search the conversation"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setAt(0);
          const [first] = searchRows(rows, event.target.value);
          show(first ?? -1);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") goTo(at + (event.shiftKey ? -1 : 1));
          if (event.key === "Escape") close();
        }}
      />
      <span className="muted" role="status">
        {text === "" ? "" : found.length === 0 ? "not found" : `${at + 1} of ${found.length}`}
      </span>
      <button type="button" className="icon-button" aria-label="Previous" onClick={() => goTo(at - 1)}>
        <Icon name="arrowUp" size={14} />
      </button>
      <button type="button" className="icon-button" aria-label="Next" onClick={() => goTo(at + 1)}>
        <Icon name="arrowDown" size={14} />
      </button>
      <button type="button" className="icon-button" aria-label="Close the search" onClick={close}>
        <Icon name="close" size={14} />
      </button>
    </div>
  );
}
