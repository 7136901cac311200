/** Everything that belongs to one connected endpoint: created after connecting, provided to all components. */

import { createContext, useContext } from "react";
import { Http, type Endpoint } from "../api/http";
import { RequestLog } from "../api/requestLog";
import { ServerApi } from "../api/server";
import type { Instance } from "../instance/instance";
import type { History } from "../storage/history";
import { TabChannel } from "../storage/tabChannel";
import { ServerList } from "./serverList";
import { SessionList } from "./sessionList";

/** A browser opens six connections to one host for all tabs together, so a tab uses one stream. */
const OPEN_INSTANCES = 1;

export class AppState {
  readonly requests = new RequestLog();
  readonly http: Http;
  readonly api: ServerApi;
  readonly tabs = new TabChannel();
  readonly sessions: SessionList;
  readonly servers: ServerList;
  private readonly instances = new Map<string, Instance>();

  constructor(
    readonly endpoint: Endpoint,
    readonly history: History,
  ) {
    this.http = new Http(endpoint, this.requests);
    this.api = new ServerApi(this.http);
    this.sessions = new SessionList(history, this.tabs, this.http.origin);
    this.servers = new ServerList(this.api);
  }

  openInstance(key: string): Instance | undefined {
    const found = this.instances.get(key);
    if (found) this.keep(key, found);
    return found;
  }

  /** Keep an instance open under this key; the least recently used one is closed. */
  keep(key: string, instance: Instance): void {
    const before = this.instances.get(key);
    if (before && before !== instance) before.close();
    this.instances.delete(key);
    this.instances.set(key, instance);
    for (const [name, oldest] of this.instances) {
      if (this.instances.size <= OPEN_INSTANCES) break;
      oldest.close();
      this.instances.delete(name);
    }
  }

  drop(key: string): void {
    this.instances.get(key)?.close();
    this.instances.delete(key);
  }

  close(): void {
    this.servers.stop();
    for (const instance of this.instances.values()) instance.close();
    this.instances.clear();
  }
}

const Context = createContext<AppState | null>(null);
export const AppStateProvider = Context.Provider;

export function useAppState(): AppState {
  const app = useContext(Context);
  if (!app) throw new Error("useAppState needs an AppStateProvider");
  return app;
}
