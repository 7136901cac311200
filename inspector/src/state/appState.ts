/** Everything that belongs to one connected endpoint: created after connecting, provided to all components. */

import { createContext, useContext } from "react";
import { Http, type Endpoint } from "../api/http";
import { RequestLog } from "../api/requestLog";
import { ServerApi } from "../api/server";
import { OpenSessions } from "../session/openSessions";
import type { History } from "../storage/history";
import { TabChannel } from "../storage/tabChannel";
import { ServerList } from "./serverList";
import { SessionList } from "./sessionList";

export class AppState {
  readonly requests = new RequestLog();
  readonly http: Http;
  readonly api: ServerApi;
  readonly tabs = new TabChannel();
  readonly sessions: SessionList;
  readonly servers: ServerList;
  readonly open: OpenSessions;

  constructor(
    readonly endpoint: Endpoint,
    readonly history: History,
  ) {
    this.http = new Http(endpoint, this.requests);
    this.api = new ServerApi(this.http);
    this.sessions = new SessionList(history, this.tabs, this.http.origin);
    this.servers = new ServerList(this.api);
    this.open = new OpenSessions(this);
  }

  close(): void {
    this.servers.stop();
    this.open.close();
  }
}

const Context = createContext<AppState | null>(null);
export const AppStateProvider = Context.Provider;

/** Null in a page without a server, such as that of recorded rollouts. */
export function useConnectedApp(): AppState | null {
  return useContext(Context);
}

export function useAppState(): AppState {
  const app = useContext(Context);
  if (!app) throw new Error("useAppState needs an AppStateProvider");
  return app;
}
