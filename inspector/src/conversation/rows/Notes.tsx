/** Consecutive notes, folded. */

import { useState } from "react";
import type { NoteItem } from "../../fold/chat/conversation";
import { count } from "../../ui/format";
import { EventLink } from "./EventLink";

const SHOWN = 50;
const DETAIL_CHARS = 300;

export function Notes({ notes }: { notes: NoteItem[] }) {
  const [open, setOpen] = useState(false);
  if (notes.length === 1 && !notes[0]!.detail) {
    return (
      <div className="notes">
        <span>{notes[0]!.label}</span> <EventLink n={notes[0]!.n} />
      </div>
    );
  }
  return (
    <div className="notes">
      <button type="button" className="link-button" aria-expanded={open} onClick={() => setOpen(!open)}>
        {notes.length === 1 ? notes[0]!.label : count(notes.length, "event")}
      </button>
      {open && (
        <ul>
          {notes.slice(0, SHOWN).map((note) => (
            <li key={note.key}>
              {note.label} {note.detail && <code>{note.detail.slice(0, DETAIL_CHARS)}</code>}{" "}
              <EventLink n={note.n} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
