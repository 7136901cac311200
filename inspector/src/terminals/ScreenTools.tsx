/** Search in a screen, and copy: the selection, or everything. */

import { useState, type KeyboardEvent } from "react";
import { CopyButton } from "../ui/CopyButton";
import { Icon } from "../ui/Icon";
import type { Screen } from "./screen";

export function ScreenTools({ screen }: { screen: Screen }) {
  const [text, setText] = useState("");
  const [found, setFound] = useState(true);
  const find = (wanted: string, direction: "next" | "previous") =>
    setFound(wanted === "" || screen.find(wanted, direction));
  const pressed = (event: KeyboardEvent) => {
    if (event.key === "Enter") find(text, event.shiftKey ? "previous" : "next");
    if (event.key === "Escape") screen.focus();
  };
  return (
    <>
      <label className="search">
        <Icon name="search" size={14} />
        <input
          value={text}
          placeholder="Search the output"
          aria-label="Search the output"
          aria-invalid={!found}
          title="Enter: next. Shift+Enter: previous. Esc: back."
          onChange={(event) => {
            setText(event.target.value);
            find(event.target.value, "next");
          }}
          onKeyDown={pressed}
        />
      </label>
      {!found && <span className="muted">Not found</span>}
      <CopyButton text={() => screen.text()} label="Copy the selection, or everything" />
    </>
  );
}
