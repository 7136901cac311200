/** The instances that `GET /v1/acp` lists, polled every 3 s while the page is visible. */

import type { AcpServer } from "../api/bodies";
import { ApiProblem } from "../api/problem";
import type { ServerApi } from "../api/server";
import { Observable } from "./observable";

const INTERVAL_MS = 3000;

export interface ServersState {
  servers: readonly AcpServer[];
  loaded: boolean;
  problem?: ApiProblem;
}

export class ServerList {
  readonly state = new Observable<ServersState>({ servers: [], loaded: false });
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stopped = false;

  constructor(private readonly api: ServerApi) {
    void this.poll();
  }

  /** Poll now; the result is also published. */
  async refresh(): Promise<readonly AcpServer[]> {
    try {
      const servers = await this.api.servers();
      if (!sameServers(servers, this.state.get())) this.state.set({ servers, loaded: true });
      return servers;
    } catch (error) {
      if (error instanceof ApiProblem) this.state.set({ servers: [], loaded: true, problem: error });
      throw error;
    }
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  private async poll(): Promise<void> {
    if (!document.hidden) await this.refresh().catch(() => undefined);
    if (!this.stopped) this.timer = setTimeout(() => void this.poll(), INTERVAL_MS);
  }
}

function sameServers(servers: readonly AcpServer[], state: ServersState): boolean {
  return state.loaded && !state.problem && JSON.stringify(servers) === JSON.stringify(state.servers);
}
