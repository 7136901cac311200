/** Everything that belongs to one connected endpoint: created after connecting, provided to all components. */

import { EventStreams } from "../api/eventStreams";
import { Http, type Endpoint } from "../api/http";
import { RequestLog } from "../api/requestLog";
import { ServerApi } from "../api/server";
import { OpenSessions } from "../session/openSessions";
import type { History } from "../storage/history";
import { TabChannel } from "../storage/tabChannel";
import { AppContext, useConnectedApp } from "./appContext";
import { ServerList } from "./serverList";
import { SessionList } from "./sessionList";

export class AppState {
  readonly requests = new RequestLog();
  readonly http: Http;
  readonly api: ServerApi;
  readonly streams: EventStreams;
  readonly tabs = new TabChannel();
  readonly sessions: SessionList;
  readonly servers: ServerList;
  readonly open: OpenSessions;

  constructor(
    readonly endpoint: Endpoint,
    readonly history: History,
    /** Whether the server streams several instances in one connection. */
    sharesStreams: boolean,
  ) {
    this.http = new Http(endpoint, this.requests);
    this.api = new ServerApi(this.http);
    this.streams = new EventStreams(this.http, sharesStreams);
    this.sessions = new SessionList(history, this.tabs, this.http.origin);
    this.servers = new ServerList(this.api);
    this.open = new OpenSessions(this);
  }

  close(): void {
    this.servers.stop();
    this.open.close();
  }
}

export const AppStateProvider = AppContext.Provider;

export function useAppState(): AppState {
  const app = useConnectedApp();
  if (!app) throw new Error("useAppState needs an AppStateProvider");
  return app;
}
