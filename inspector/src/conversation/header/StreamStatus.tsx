/** The state of the event stream: connection, last event, reconnects and gaps. */

import type { InstanceSnapshot } from "../../instance/snapshot";
import { count } from "../../ui/format";

const LABELS: Record<string, string> = {
  connecting: "connecting",
  connected: "connected",
  reconnecting: "reconnecting",
  gone: "server gone",
  refused: "refused",
  closed: "not connected",
};

export function StreamStatus({ snapshot, ended }: { snapshot: InstanceSnapshot; ended?: boolean }) {
  const { stream, reconnects, lastEventId, gaps } = snapshot;
  const facts = [`last event ${lastEventId}`];
  if (reconnects > 0) facts.push(count(reconnects, "reconnect"));
  if (gaps > 0) facts.push(count(gaps, "gap"));
  return (
    <span className="stream-status" data-state={stream} title={`Event stream: ${facts.join(", ")}`}>
      <span className={ended ? "dot state-ended" : `dot stream-${stream}`} aria-hidden="true" />
      <span role="status">{ended ? "ended" : LABELS[stream]}</span>
      <span className="muted stream-facts">{facts.join(" · ")}</span>
    </span>
  );
}
