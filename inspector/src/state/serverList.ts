/**
 * The instances that `GET /v1/acp` lists, polled every 3 s, less often in a hidden tab. A poll that fails keeps
 * the last list and says so.
 */

import type { AcpServer } from "../api/bodies";
import { ApiProblem } from "../api/problem";
import type { ServerApi } from "../api/server";
import { Observable } from "./observable";

const INTERVAL_MS = 3000;
/** In a hidden tab the list is only needed to notify. */
const HIDDEN_INTERVAL_MS = 10_000;
/** After a failure the next poll comes sooner, to end the notice soon. */
const RETRY_MS = 1000;

export interface ServersState {
  servers: readonly AcpServer[];
  /** A list has arrived. */
  loaded: boolean;
  /** When the list was asked for; facts known since then are newer. */
  askedAt: number;
  /** Why the last poll failed; `servers` is then the list before it. */
  problem?: ApiProblem;
}

export class ServerList {
  readonly state = new Observable<ServersState>({ servers: [], loaded: false, askedAt: 0 });
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stopped = false;
  private readonly visible = () => !document.hidden && this.pollNow();

  constructor(private readonly api: ServerApi) {
    document.addEventListener("visibilitychange", this.visible);
    void this.poll();
  }

  /** Poll now; the result is also published. */
  async refresh(): Promise<readonly AcpServer[]> {
    const askedAt = Date.now();
    try {
      const servers = await this.api.servers();
      if (askedAt >= this.state.get().askedAt) this.state.set({ servers, loaded: true, askedAt });
      return servers;
    } catch (error) {
      const problem =
        error instanceof ApiProblem ? error : new ApiProblem("unreachable", 0, "Error", String(error));
      this.state.set({ ...this.state.get(), problem });
      throw error;
    }
  }

  find(serverId: string): AcpServer | undefined {
    return this.state.get().servers.find((server) => server.serverId === serverId);
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    document.removeEventListener("visibilitychange", this.visible);
  }

  private pollNow(): void {
    clearTimeout(this.timer);
    void this.poll();
  }

  private async poll(): Promise<void> {
    await this.refresh().catch(() => undefined);
    if (this.stopped) return;
    clearTimeout(this.timer);
    const interval = document.hidden ? HIDDEN_INTERVAL_MS : this.state.get().problem ? RETRY_MS : INTERVAL_MS;
    this.timer = setTimeout(() => void this.poll(), interval);
  }
}
