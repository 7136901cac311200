/** The same messages as universal events, derived here exactly as the client library derives them. */

import { memo, useMemo, useState } from "react";
import type { Instance, InstanceSnapshot } from "../live/instance";
import type { UniversalEvent } from "../universal/events";
import { UniversalMapper } from "../universal/mapper";
import { CopyButton } from "../ui/CopyButton";
import { Empty } from "../ui/Empty";
import { pretty } from "../ui/format";
import { FollowingList } from "./FollowingList";
import { useFiltered } from "./useFiltered";

interface Props {
  instance: Instance;
  snapshot: InstanceSnapshot;
  search: string;
}

const ROW_PX = 32;

export function UniversalEvents({ instance, snapshot, search }: Props) {
  const derived = useMemo(
    () => ({ mapper: new UniversalMapper(instance.serverId), upTo: 0, events: [] as UniversalEvent[] }),
    [instance],
  );
  for (; derived.upTo < snapshot.count; derived.upTo += 1) {
    const message = snapshot.messages[derived.upTo]!;
    if (!message.gap)
      derived.events.push(
        ...derived.mapper.feed(message.payload, message.sender, new Date(message.time).toISOString()),
      );
  }
  const wanted = search.toLowerCase();
  const shown = useFiltered(
    derived.events,
    derived.events.length,
    wanted,
    (event) => wanted === "" || JSON.stringify(event).toLowerCase().includes(wanted),
  );
  if (shown.length === 0)
    return <Empty title={derived.events.length === 0 ? "No universal events yet" : "No event fits"} />;
  return (
    <FollowingList
      label="Universal events"
      entries={shown}
      keyOf={(event) => event.sequence}
      rowHeight={ROW_PX}
      render={(event) => <UniversalRow event={event} />}
    />
  );
}

const UniversalRow = memo(function UniversalRow({ event }: { event: UniversalEvent }) {
  const [open, setOpen] = useState(false);
  return (
    <div className={`event universal ${event.type.split(".")[0]}`}>
      <button type="button" className="event-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="event-id">{event.sequence}</span>
        <span className="event-name">{event.type}</span>
        <span className="event-hint">{hint(event)}</span>
        {event.synthetic && (
          <span className="pill" title="Made on this side to complete the picture">
            synthetic
          </span>
        )}
      </button>
      {open && (
        <div className="event-body">
          <CopyButton text={() => pretty(event)} label="Copy JSON" shown />
          <pre className="json" tabIndex={0}>
            {pretty(event)}
          </pre>
        </div>
      )}
    </div>
  );
});

function hint(event: UniversalEvent): string {
  const data = event.data as Record<string, unknown>;
  const item = data.item as { kind?: string; role?: string } | undefined;
  if (item) return `${item.kind ?? ""} ${item.role ?? ""}`.trim();
  const text = data.delta ?? data.action ?? data.prompt ?? data.message ?? data.reason;
  return typeof text === "string" ? text.slice(0, 120) : "";
}
