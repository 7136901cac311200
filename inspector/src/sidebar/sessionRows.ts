/** Sessions of this browser and instances of other clients as one list of rows. */

import type { AcpServer } from "../api/bodies";
import { exitText } from "../session/view/exitText";
import { liveServer } from "../session/lifecycle";
import type { Phase } from "../session/sessionMachine";
import type { Route } from "../state/route";
import type { SessionRecord } from "../storage/sessionRecord";
import { agentLabel } from "../ui/agentLabel";
import { ago } from "../ui/format";
import { untitled } from "../ui/untitled";

export type RowState = "working" | "waiting" | "idle" | "ended" | "starting" | "imported";

export interface SessionRow {
  key: string;
  route: Route;
  title: string;
  state: RowState;
  /** Agent, time, and whose session it is. */
  facts: string[];
  activeAt: number;
}

export const STATE_LABELS: Record<RowState, string> = {
  working: "working",
  waiting: "waits for you",
  idle: "idle",
  ended: "ended",
  starting: "starting",
  imported: "imported",
};

export function sessionRows(
  sessions: readonly SessionRecord[],
  servers: readonly AcpServer[],
  phases: ReadonlyMap<string, Phase>,
  archived: boolean,
): SessionRow[] {
  const own = sessions
    .filter((session) => session.archived === archived)
    .map((session) => ownRow(session, liveServer(session, servers), phases.get(session.id)));
  const known = new Set(sessions.map((session) => session.serverId));
  const foreign = archived ? [] : servers.filter((server) => !known.has(server.serverId)).map(foreignRow);
  return [...own, ...foreign].sort(
    (a, b) => Number(b.state === "waiting") - Number(a.state === "waiting") || b.activeAt - a.activeAt,
  );
}

/** The rows whose title, agent or state contains every word of the filter. */
export function filterRows(rows: readonly SessionRow[], filter: string): SessionRow[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    const text = [row.title, STATE_LABELS[row.state], ...row.facts].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

function ownRow(session: SessionRecord, server: AcpServer | undefined, phase: Phase | undefined): SessionRow {
  return {
    key: session.id,
    route: { page: "session", id: session.id },
    title: session.title || untitled(session.agent, session.createdAt),
    state: session.imported ? "imported" : ownState(server, phase),
    facts: [agentLabel(session.agent), ago(session.lastActiveAt)],
    activeAt: session.lastActiveAt,
  };
}

/** The open session knows best; the list of the server answers for the others. */
function ownState(server: AcpServer | undefined, phase: Phase | undefined): RowState {
  if (phase === "resuming") return "starting";
  if (phase !== undefined && phase !== "loading") return phase;
  return server ? serverState(server) : "ended";
}

function serverState(server: AcpServer): RowState {
  if (server.status === "exited") return "ended";
  if (server.status === "starting") return "starting";
  return server.pendingRequests > 0 ? "working" : "idle";
}

function foreignRow(server: AcpServer): SessionRow {
  return {
    key: `server:${server.serverId}`,
    route: { page: "server", id: server.serverId },
    title: untitled(server.agent, server.createdAtMs),
    state: serverState(server),
    facts: [exitText(server) ?? "another client", server.serverId],
    activeAt: server.lastActivityMs,
  };
}
