/** The side bar: what needs the user, and all sessions and instances in one list. */

import { useMemo, useState } from "react";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { Empty, Loading } from "../ui/Empty";
import { Icon } from "../ui/Icon";
import { filterRows, sessionRows, STATE_LABELS, type SessionRow } from "./sessionRows";
import { SideLink } from "./SideLink";

/** A short list needs no filter. */
const FILTER_FROM = 8;

export function Sidebar({ create, chosen }: { create: () => void; chosen: () => void }) {
  const app = useAppState();
  const sessions = useObservable(app.sessions.sessions);
  const { servers, problem } = useObservable(app.servers.state);
  const phases = useObservable(app.open.phases);
  const waiting = useObservable(app.open.waiting);
  const [archived, setArchived] = useState(false);
  const [filter, setFilter] = useState("");
  const rows = useMemo(
    () => sessionRows(sessions ?? [], servers, phases, archived),
    [sessions, servers, phases, archived],
  );
  const shown = filterRows(rows, filter);
  const hasArchived = sessions?.some((session) => session.archived);
  return (
    <aside className="sidebar" aria-label="Sessions">
      <div className="side-head">
        <h2>{archived ? "Archived sessions" : "Sessions"}</h2>
        <button type="button" className="button small primary" onClick={create}>
          <Icon name="plus" size={14} /> New
        </button>
      </div>
      {problem && (
        <p className="side-notice" role="status">
          Connection lost, retrying
        </p>
      )}
      <ul className="side-list">
        <SideLink route={{ page: "inbox" }} chosen={chosen}>
          <Icon name="inbox" />
          <span className="side-text">
            <strong>Needs you</strong>
          </span>
          {waiting.length > 0 && (
            <span className="badge" aria-label={`${waiting.length} waiting`}>
              {waiting.length}
            </span>
          )}
        </SideLink>
        <SideLink route={{ page: "compare" }} chosen={chosen}>
          <Icon name="columns" />
          <span className="side-text">
            <strong>Compare agents</strong>
          </span>
        </SideLink>
      </ul>
      {rows.length > FILTER_FROM && (
        <label className="search side-filter">
          <Icon name="search" size={14} />
          <input
            type="search"
            value={filter}
            aria-label="Filter sessions"
            placeholder="Filter"
            onChange={(event) => setFilter(event.target.value)}
          />
        </label>
      )}
      {!sessions && <Loading what="your sessions" />}
      {sessions && rows.length === 0 && (
        <Empty title="No sessions yet">
          They are kept in this browser{app.history.durable ? "" : " until the tab closes"}.
        </Empty>
      )}
      <ul className="side-list" aria-label="All sessions">
        {shown.map((row) => (
          <Row key={row.key} row={row} chosen={chosen} />
        ))}
      </ul>
      {(hasArchived || archived) && (
        <button type="button" className="link-button" onClick={() => setArchived(!archived)}>
          {archived ? "Back to sessions" : "Show archived"}
        </button>
      )}
    </aside>
  );
}

function Row({ row, chosen }: { row: SessionRow; chosen: () => void }) {
  return (
    <SideLink route={row.route} chosen={chosen}>
      <span className={`dot state-${row.state}`} aria-hidden="true" />
      <span className="side-text">
        <strong>{row.title}</strong>
        <span className="muted">
          {[row.facts[0], STATE_LABELS[row.state], ...row.facts.slice(1)].join(" · ")}
        </span>
      </span>
    </SideLink>
  );
}
