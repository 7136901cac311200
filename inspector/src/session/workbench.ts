/** Everything that belongs to one connected endpoint. Made once after connecting, given to all components. */

import { createContext, useContext } from "react";
import { Http, type Endpoint } from "../api/http";
import { RequestLog } from "../api/requestLog";
import { ServerApi } from "../api/server";
import type { Instance } from "../live/instance";
import type { History } from "../storage/history";
import { Tabs } from "../storage/tabs";
import { ServerList } from "./serverList";
import { SessionList } from "./sessionList";

/** A browser opens six connections to one host for all tabs together, so a tab gets one stream. */
const OPEN_INSTANCES = 1;

export class Workbench {
  readonly requests = new RequestLog();
  readonly http: Http;
  readonly api: ServerApi;
  readonly tabs = new Tabs();
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

  /** Keep an instance open under this name; the one unused for longest is closed. */
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

const Context = createContext<Workbench | null>(null);
export const WorkbenchProvider = Context.Provider;

export function useWorkbench(): Workbench {
  const workbench = useContext(Context);
  if (!workbench) throw new Error("used outside of a connected page");
  return workbench;
}
