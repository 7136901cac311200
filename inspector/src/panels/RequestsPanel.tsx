/** The HTTP calls of this tab, and commands that repeat them. */

import { useState, useSyncExternalStore } from "react";
import type { LoggedRequest } from "../api/requestLog";
import { useAppState } from "../state/appState";
import { CopyButton } from "../ui/CopyButton";
import { Empty } from "../ui/Empty";
import { clock, count } from "../ui/format";
import { asCurl, asPython } from "./snippets";

export function RequestsPanel() {
  const app = useAppState();
  const { requests } = app;
  const entries = useSyncExternalStore(requests.subscribe, requests.snapshot);
  const withToken = app.endpoint.token !== "";
  return (
    <div className="panel">
      <div className="toolbar">
        <h2>Requests</h2>
        <span className="muted grow">{count(entries.length, "call")}, newest first</span>
        <button type="button" className="button small" onClick={() => requests.clear()}>
          Clear
        </button>
      </div>
      <div className="panel-scroll">
        {entries.length === 0 && (
          <Empty title="No calls yet">Each HTTP call this page makes is listed here.</Empty>
        )}
        {entries.map((entry) => (
          <RequestRow key={entry.id} entry={entry} withToken={withToken} />
        ))}
      </div>
    </div>
  );
}

function RequestRow({ entry, withToken }: { entry: LoggedRequest; withToken: boolean }) {
  const [open, setOpen] = useState(false);
  const failed = entry.error !== undefined || (entry.status ?? 0) >= 400;
  return (
    <div className={failed ? "event failed" : "event"}>
      <button type="button" className="event-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="pill mono request-method">{entry.method}</span>
        <span className="event-name mono ellipsis">{entry.url.replace(/^https?:\/\/[^/]+/, "")}</span>
        <span className={failed ? "bad-text" : "good-text"}>
          {entry.error ? "failed" : (entry.status ?? "…")}
        </span>
        <span className="muted request-time">
          {entry.durationMs === undefined ? "" : `${entry.durationMs} ms`}
        </span>
        <time>{clock(entry.startedAt)}</time>
      </button>
      {open && (
        <div className="event-body">
          <CopyButton text={() => asCurl(entry, withToken)} label="Copy as curl" shown />
          <CopyButton text={() => asPython(entry, withToken)} label="Copy as Python" shown />
          {entry.body && (
            <>
              <h4>Request</h4>
              <pre className="json" tabIndex={0}>
                {formatted(entry.body)}
              </pre>
            </>
          )}
          {entry.responseBody && (
            <>
              <h4>Response</h4>
              <pre className="json" tabIndex={0}>
                {formatted(entry.responseBody)}
              </pre>
            </>
          )}
          {entry.error && <p className="bad-text">{entry.error}</p>}
        </div>
      )}
    </div>
  );
}

function formatted(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2);
  } catch {
    return body;
  }
}
