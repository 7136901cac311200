/** One row of the conversation. */

import { memo, useState } from "react";
import type { Item, MessageItem, NoteItem, PlanItem } from "../fold/chat/conversation";
import type { Row } from "../fold/chat/rows";
import type { Instance } from "../instance/instance";
import { MarkdownBlock } from "../markdown/MarkdownBlock";
import { showEvent } from "../state/selection";
import { clock, count, duration } from "../ui/format";
import { Icon } from "../ui/Icon";
import { Attachments } from "./Attachments";
import { RequestCard } from "./RequestCard";
import { ToolCard } from "./ToolCard";

interface Props {
  row: Row;
  instance: Instance;
  answerable: boolean;
}

export const RowView = memo(function RowView({ row, instance, answerable }: Props) {
  if (row.type === "notes") return <Notes notes={row.notes} />;
  if (row.type === "block") {
    const { item, block, first, last } = row;
    return (
      <div className={`message ${item.role}${first ? " first" : ""}${last ? " last" : ""}`}>
        {first && (
          <div className="message-head">
            {item.role === "user" ? "You" : "Agent"} <time className="muted">{clock(item.time)}</time>
          </div>
        )}
        {block && <MarkdownBlock block={block} />}
        {last && item.attachments.length > 0 && <Attachments blocks={item.attachments} />}
      </div>
    );
  }
  return <ItemView item={row.item} instance={instance} answerable={answerable} />;
});

function ItemView({ item, instance, answerable }: { item: Item; instance: Instance; answerable: boolean }) {
  switch (item.kind) {
    case "thought":
      return <Thought item={item} />;
    case "tool":
      return <ToolCard item={item} />;
    case "plan":
      return <Plan item={item} />;
    case "request":
      return <RequestCard item={item} instance={instance} answerable={answerable} />;
    case "gap":
      return (
        <div className="gap-mark" role="note">
          <Icon name="warning" size={14} /> Events are missing here: the server has kept {item.gap.oldest} to{" "}
          {item.gap.newest} only.
        </div>
      );
    case "turn-end":
      return (
        <div className={`turn-end ${item.stopReason === "end_turn" ? "" : "notable"}`}>
          <span>
            {item.stopReason === "end_turn" ? "turn ended" : item.stopReason.replaceAll("_", " ")}
            {item.durationMs > 0 ? ` · ${duration(item.durationMs)}` : ""}
          </span>
        </div>
      );
    case "note":
      return (
        <div className={`note ${item.level}`}>
          <Icon name="warning" size={14} />
          <div className="grow">
            <strong>{item.label}</strong>
            {item.detail && <pre>{item.detail}</pre>}
          </div>
          <EventLink n={item.n} />
        </div>
      );
    default:
      return null;
  }
}

const COLLAPSED_THOUGHT_CHARS = 400;

function Thought({ item }: { item: MessageItem }) {
  const [open, setOpen] = useState(false);
  const long = item.text.length > COLLAPSED_THOUGHT_CHARS;
  const shown = open || !long ? item.text : `…${item.text.slice(-COLLAPSED_THOUGHT_CHARS)}`;
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
      <p>{shown}</p>
    </div>
  );
}

const PLAN_MARKS: Record<string, string> = { completed: "✓", in_progress: "▸", pending: "○" };

function Plan({ item }: { item: PlanItem }) {
  const done = item.entries.filter((entry) => entry.status === "completed").length;
  return (
    <div className="plan">
      <div className="plan-head">
        <Icon name="list" size={14} /> Plan{" "}
        <span className="muted">
          {done} of {item.entries.length}
        </span>
      </div>
      <ul>
        {item.entries.map((entry, index) => (
          <li key={index} className={entry.status}>
            <span aria-hidden="true">{PLAN_MARKS[entry.status] ?? "○"}</span>
            <span className="visually-hidden">{entry.status.replace("_", " ")}: </span>
            <span className="plan-text">{entry.content}</span>
            {entry.priority === "high" && <span className="pill warn">high</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Notes({ notes }: { notes: NoteItem[] }) {
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
          {notes.slice(0, 50).map((note) => (
            <li key={note.key}>
              {note.label} {note.detail && <code>{note.detail.slice(0, 300)}</code>} <EventLink n={note.n} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function EventLink({ n }: { n: number }) {
  return (
    <button
      type="button"
      className="icon-button tiny"
      aria-label="Show the raw event"
      title="Show the raw event"
      onClick={() => showEvent(n)}
    >
      <Icon name="link" size={12} />
    </button>
  );
}
