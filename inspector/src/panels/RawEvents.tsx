/** The messages as they crossed the wire. */

import { memo, useState } from "react";
import type { InstanceSnapshot } from "../live/instance";
import type { LoggedMessage } from "../live/message";
import { CopyButton } from "../ui/CopyButton";
import { Empty } from "../ui/Empty";
import { clock, pretty } from "../ui/format";
import { Icon } from "../ui/Icon";
import { describe, type Description } from "./describe";
import { FollowingList } from "./FollowingList";
import { useFiltered } from "./useFiltered";

interface Props {
  snapshot: InstanceSnapshot;
  filter: string;
  search: string;
  jump: number | undefined;
}

const ROW_PX = 32;

export function RawEvents({ snapshot, filter, search, jump }: Props) {
  const wanted = search.toLowerCase();
  const shown = useFiltered(snapshot.messages, snapshot.count, `${filter}\n${wanted}`, (message) =>
    keeps(message, filter, wanted),
  );
  const index = jump === undefined ? undefined : shown.findIndex((message) => message.n === jump);
  if (shown.length === 0) {
    return (
      <Empty title={snapshot.count === 0 ? "No messages yet" : "No message fits"}>
        {snapshot.count === 0
          ? "They appear here as they are sent and received."
          : "Change the filter or the search."}
      </Empty>
    );
  }
  return (
    <FollowingList
      label="Messages"
      entries={shown}
      keyOf={(message) => message.n}
      rowHeight={ROW_PX}
      show={index}
      render={(message) => <EventRow message={message} marked={message.n === jump} />}
    />
  );
}

function keeps(message: LoggedMessage, filter: string, search: string): boolean {
  if (filter === "client" || filter === "agent") {
    if (message.sender !== filter) return false;
  } else if (filter !== "all" && describe(message).category !== filter) {
    return false;
  }
  return search === "" || JSON.stringify(message.payload).toLowerCase().includes(search);
}

const EventRow = memo(function EventRow({ message, marked }: { message: LoggedMessage; marked: boolean }) {
  const [open, setOpen] = useState(marked);
  const about = describe(message);
  return (
    <div className={`event ${about.category}${marked ? " marked" : ""}`}>
      <button type="button" className="event-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span
          className={`arrow ${message.sender}`}
          title={message.sender === "client" ? "client to agent" : "agent to client"}
        >
          <Icon name={iconOf(message, about)} size={13} />
        </span>
        <span className="event-id">{message.eventId ?? ""}</span>
        <span className="event-name">{about.name}</span>
        <span className="event-hint">{about.hint}</span>
        <time>{clock(message.time)}</time>
      </button>
      {open && (
        <div className="event-body">
          <CopyButton text={() => pretty(message.payload)} label="Copy JSON" shown />
          <pre className="json" tabIndex={0}>
            {pretty(message.gap ?? message.payload)}
          </pre>
        </div>
      )}
    </div>
  );
});

function iconOf(message: LoggedMessage, about: Description) {
  if (about.category === "question") return "question" as const;
  if (about.category === "gap" || about.category === "adapter") return "warning" as const;
  return message.sender === "client" ? ("arrowUp" as const) : ("arrowDown" as const);
}
