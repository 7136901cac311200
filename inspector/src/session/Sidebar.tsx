/** Sessions of this browser, and everything that runs on the server. */

import { useState } from "react";
import type { AcpServer } from "../api/bodies";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { pendingCounts } from "../state/pendingRequests";
import { currentRoute, go, routePath, type Route } from "../state/route";
import type { SessionRecord } from "../storage/sessionRecord";
import { agentLabel } from "../ui/agentLabel";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { ago, count } from "../ui/format";
import { Icon } from "../ui/Icon";
import { liveServer } from "./lifecycle";

export function Sidebar({ create, chosen }: { create: () => void; chosen: () => void }) {
  const app = useAppState();
  const sessions = useObservable(app.sessions.sessions);
  const servers = useObservable(app.servers.state);
  const [archived, setArchived] = useState(false);
  const shown = sessions?.filter((session) => session.archived === archived);
  const hasArchived = sessions?.some((session) => session.archived);
  return (
    <aside className="sidebar" aria-label="Sessions and servers">
      <div className="side-head">
        <h2>{archived ? "Archived sessions" : "Sessions"}</h2>
        <button type="button" className="button small primary" onClick={create}>
          <Icon name="plus" size={14} /> New
        </button>
      </div>
      {!sessions && <Loading what="your sessions" />}
      {shown?.length === 0 && (
        <Empty title="No sessions yet">
          They are kept in this browser{app.history.durable ? "" : " until the tab closes"}.
        </Empty>
      )}
      <ul className="side-list">
        {shown?.map((session) => (
          <SessionRow
            key={session.id}
            session={session}
            server={liveServer(session, servers.servers)}
            chosen={chosen}
          />
        ))}
      </ul>
      {(hasArchived || archived) && (
        <button type="button" className="link-button" onClick={() => setArchived(!archived)}>
          {archived ? "Back to sessions" : "Show archived"}
        </button>
      )}
      <div className="side-head">
        <h2>Live servers</h2>
        <button
          type="button"
          className="icon-button"
          aria-label="Refresh servers"
          onClick={() => void app.servers.refresh().catch(() => undefined)}
        >
          <Icon name="refresh" size={14} />
        </button>
      </div>
      {servers.problem && <ErrorBox error={servers.problem} />}
      {servers.loaded && !servers.problem && servers.servers.length === 0 && (
        <Empty title="Nothing is running" />
      )}
      <ul className="side-list">
        {servers.servers.map((server) => (
          <ServerRow key={server.serverId} server={server} chosen={chosen} />
        ))}
      </ul>
    </aside>
  );
}

function SessionRow({
  session,
  server,
  chosen,
}: {
  session: SessionRecord;
  server?: AcpServer;
  chosen: () => void;
}) {
  const waiting = useObservable(pendingCounts).get(session.id) ?? 0;
  const state = session.imported ? "imported" : (server?.status ?? "ended");
  return (
    <SideLink route={{ page: "session", id: session.id }} chosen={chosen}>
      <span className={`dot ${state}`} aria-hidden="true" />
      <span className="side-text">
        <strong>{session.title || `${agentLabel(session.agent)} ${session.id.slice(0, 8)}`}</strong>
        <span className="muted">
          {agentLabel(session.agent)} · {state} · {ago(session.createdAt)}
        </span>
      </span>
      {waiting > 0 && (
        <span className="badge" aria-label={`${count(waiting, "question")} waiting`}>
          {waiting}
        </span>
      )}
    </SideLink>
  );
}

function ServerRow({ server, chosen }: { server: AcpServer; chosen: () => void }) {
  const facts = [agentLabel(server.agent), exitText(server) ?? server.status];
  if (server.pendingRequests > 0) facts.push(`${server.pendingRequests} pending`);
  if (server.subscribers > 0) facts.push(count(server.subscribers, "reader"));
  return (
    <SideLink route={{ page: "server", id: server.serverId }} chosen={chosen}>
      <span className={`dot ${server.status}`} aria-hidden="true" />
      <span className="side-text">
        <strong className="mono">{server.serverId}</strong>
        <span className="muted">{facts.join(" · ")}</span>
      </span>
    </SideLink>
  );
}

export function exitText(server: AcpServer): string | undefined {
  if (server.status !== "exited") return undefined;
  if (server.signal) return `killed by ${server.signal}`;
  return server.exitCode === undefined ? "exited" : `exit code ${server.exitCode}`;
}

function SideLink({
  route,
  chosen,
  children,
}: {
  route: Route;
  chosen: () => void;
  children: React.ReactNode;
}) {
  const active = routePath(useObservable(currentRoute)) === routePath(route);
  return (
    <li>
      <a
        href={routePath(route)}
        className="side-row"
        aria-current={active ? "page" : undefined}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          go(route);
          chosen();
        }}
      >
        {children}
      </a>
    </li>
  );
}
