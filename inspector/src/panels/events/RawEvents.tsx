/** The messages as they were sent and received. */

import { memo, useCallback, useMemo, useState } from "react";
import type { LogEntry } from "../../fold/sessionFold";
import type { InstanceSnapshot } from "../../instance/snapshot";
import { CopyButton } from "../../ui/CopyButton";
import { Empty } from "../../ui/Empty";
import { clock, pretty } from "../../ui/format";
import { Icon, type IconName } from "../../ui/Icon";
import { describeReading, type Description } from "./describeReading";
import { useFiltered } from "./filteredList";
import { FollowingList } from "./FollowingList";

interface Props {
  snapshot: InstanceSnapshot;
  filter: string;
  search: string;
  /** Position of the message to show. */
  jump: number | undefined;
}

export function RawEvents({ snapshot, filter, search, jump }: Props) {
  const wanted = search.toLowerCase();
  const test = useCallback((entry: LogEntry) => passes(entry, filter, wanted), [filter, wanted]);
  const shown = useFiltered(snapshot.entries, snapshot.entryCount, test);
  const index = useMemo(
    () => (jump === undefined ? undefined : shown.findIndex((entry) => entry.n === jump)),
    [shown, jump],
  );
  if (shown.length === 0) {
    return snapshot.entryCount === 0 ? (
      <Empty title="No messages yet">They appear here as they are sent and received.</Empty>
    ) : (
      <Empty title="No message fits">Change the filter or the search.</Empty>
    );
  }
  return (
    <FollowingList
      label="Messages"
      entries={shown}
      keyOf={(entry) => entry.n}
      show={index}
      render={(entry) => <EventRow entry={entry} marked={entry.n === jump} />}
    />
  );
}

function passes(entry: LogEntry, filter: string, search: string): boolean {
  if (filter === "client" || filter === "agent") {
    if (entry.sender !== filter) return false;
  } else if (filter !== "all" && describeReading(entry.reading).category !== filter) {
    return false;
  }
  return search === "" || JSON.stringify(entry.payload).toLowerCase().includes(search);
}

const EventRow = memo(function EventRow({ entry, marked }: { entry: LogEntry; marked: boolean }) {
  const [open, setOpen] = useState(marked);
  const about = describeReading(entry.reading);
  return (
    <div className={`event category-${about.category}${marked ? " marked" : ""}`}>
      <button type="button" className="event-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span
          className={`arrow ${entry.sender}`}
          title={entry.sender === "client" ? "client to agent" : "agent to client"}
        >
          <Icon name={iconOf(entry, about)} size={13} />
        </span>
        <span className="event-id">{entry.eventId ?? ""}</span>
        <span className="event-name">{about.name}</span>
        <span className="event-hint">{about.hint}</span>
        <time>{clock(entry.time)}</time>
      </button>
      {open && (
        <div className="event-body">
          <CopyButton text={() => pretty(entry.payload)} label="Copy JSON" shown />
          <pre className="json" tabIndex={0}>
            {pretty(entry.gap ?? entry.payload)}
          </pre>
        </div>
      )}
    </div>
  );
});

function iconOf(entry: LogEntry, about: Description): IconName {
  if (about.category === "question") return "question";
  if (about.category === "gap" || about.category === "adapter") return "warning";
  return entry.sender === "client" ? "arrowUp" : "arrowDown";
}
