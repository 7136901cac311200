/** News between the tabs of one browser: what was sent, and that the list of sessions changed. */

import type { StoredMessage } from "../live/message";

export type TabNews = { type: "sent"; message: StoredMessage } | { type: "sessions" };

export class Tabs {
  private readonly channel =
    typeof BroadcastChannel === "undefined" ? undefined : new BroadcastChannel("sandbox-agent-inspector");
  private readonly listeners = new Set<(news: TabNews) => void>();

  constructor() {
    this.channel?.addEventListener("message", (event) => {
      for (const listener of this.listeners) listener(event.data as TabNews);
    });
  }

  tell(news: TabNews): void {
    this.channel?.postMessage(news);
  }

  listen(listener: (news: TabNews) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
