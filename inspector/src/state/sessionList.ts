/** The sessions of this browser at one endpoint, newest first, the same in every tab. */

import type { History } from "../storage/history";
import type { SessionRecord } from "../storage/sessionRecord";
import type { TabChannel } from "../storage/tabChannel";
import { Observable } from "./observable";

export class SessionList {
  /** Undefined until the history has been read. */
  readonly sessions = new Observable<readonly SessionRecord[] | undefined>(undefined);

  constructor(
    private readonly history: History,
    private readonly tabs: TabChannel,
    readonly origin: string,
  ) {
    tabs.subscribe((notice) => {
      if (notice.type === "sessions") void this.reload();
    });
    void this.reload();
  }

  find(id: string): SessionRecord | undefined {
    return this.sessions.get()?.find((session) => session.id === id);
  }

  async put(session: SessionRecord): Promise<void> {
    await this.history.putSession(session);
    await this.publish();
  }

  async change(id: string, change: Partial<SessionRecord>): Promise<void> {
    const session = this.find(id);
    if (session) await this.put({ ...session, ...change });
  }

  async remove(session: SessionRecord): Promise<void> {
    await this.history.deleteSession(session);
    await this.publish();
  }

  async reload(): Promise<void> {
    const all = await this.history.sessions();
    const here = all.filter((session) => session.origin === this.origin);
    this.sessions.set(here.sort((a, b) => b.createdAt - a.createdAt));
  }

  private async publish(): Promise<void> {
    await this.reload();
    this.tabs.post({ type: "sessions" });
  }
}
