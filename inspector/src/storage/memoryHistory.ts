/** History for browsers that refuse IndexedDB: bounded, and lost when the tab closes. */

import type { StoredMessage } from "../fold/message";
import type { History } from "./history";
import type { SessionRecord } from "./sessionRecord";

const MAX_SESSIONS = 512;
const MAX_MESSAGES = 5000;

export class MemoryHistory implements History {
  readonly durable = false;
  private readonly records = new Map<string, SessionRecord>();
  private readonly rows = new Map<string, StoredMessage>();

  async sessions(): Promise<SessionRecord[]> {
    return [...this.records.values()];
  }

  async putSession(session: SessionRecord): Promise<void> {
    this.records.set(session.id, session);
    trim(this.records, MAX_SESSIONS);
  }

  async deleteSession(session: SessionRecord): Promise<void> {
    this.records.delete(session.id);
    for (const [key, row] of this.rows) if (session.logs.includes(row.log)) this.rows.delete(key);
  }

  async messages(log: string): Promise<StoredMessage[]> {
    const rows = [...this.rows.values()].filter((row) => row.log === log);
    return rows.sort((a, b) => a.position - b.position || a.order - b.order);
  }

  async addMessages(messages: StoredMessage[]): Promise<void> {
    for (const row of messages) this.rows.set(`${row.log}|${row.position}|${row.order}`, row);
    trim(this.rows, MAX_MESSAGES);
  }
}

function trim(map: Map<string, unknown>, limit: number): void {
  for (const key of map.keys()) {
    if (map.size <= limit) return;
    map.delete(key);
  }
}
