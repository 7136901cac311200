/** Notices between the tabs of one browser: a message was sent, or the list of sessions changed. */

import type { StoredMessage } from "../fold/message";

export type TabNotice = { type: "sent"; message: StoredMessage } | { type: "sessions" };

export class TabChannel {
  private readonly channel =
    typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("sandbox-agent-inspector");
  private readonly listeners = new Set<(notice: TabNotice) => void>();

  constructor() {
    this.channel?.addEventListener("message", (event) => {
      for (const listener of this.listeners) listener(event.data as TabNotice);
    });
  }

  post(notice: TabNotice): void {
    this.channel?.postMessage(notice);
  }

  subscribe(listener: (notice: TabNotice) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
