/** The messages as universal events, derived as the client library derives them. */

import { memo, useCallback, useEffect, useState } from "react";
import type { UniversalEvent } from "../../fold/universal/universalEvent";
import type { Instance } from "../../instance/instance";
import type { InstanceSnapshot } from "../../instance/snapshot";
import { objectAt, textAt } from "../../json";
import { CopyButton } from "../../ui/CopyButton";
import { Empty } from "../../ui/Empty";
import { pretty } from "../../ui/format";
import { useFiltered } from "./filteredList";
import { FollowingList } from "./FollowingList";

const HINT_CHARS = 120;

interface Props {
  instance: Instance;
  snapshot: InstanceSnapshot;
  search: string;
}

export function UniversalEvents({ instance, snapshot, search }: Props) {
  useEffect(() => void instance.showUniversal(), [instance]);
  const wanted = search.toLowerCase();
  const test = useCallback(
    (event: UniversalEvent) => wanted === "" || JSON.stringify(event).toLowerCase().includes(wanted),
    [wanted],
  );
  const shown = useFiltered(snapshot.universalEvents, snapshot.universalCount, test);
  if (shown.length === 0) {
    return <Empty title={snapshot.universalCount === 0 ? "No universal events yet" : "No event fits"} />;
  }
  return (
    <FollowingList
      label="Universal events"
      entries={shown}
      keyOf={(event) => event.sequence}
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
          <span className="pill" title="Added by the client library; the agent did not send it">
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

function hint({ data }: UniversalEvent): string {
  const item = objectAt(data, "item");
  if (item) return `${textAt(item, "kind") ?? ""} ${textAt(item, "role") ?? ""}`.trim();
  const text = data.delta ?? data.action ?? data.prompt ?? data.message ?? data.reason;
  return typeof text === "string" ? text.slice(0, HINT_CHARS) : "";
}
