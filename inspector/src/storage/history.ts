/** Sessions and messages of this browser. Two implementations: IndexedDB, and memory where there is none. */

import type { StoredMessage } from "../fold/message";
import { IndexedHistory } from "./indexedHistory";
import { MemoryHistory } from "./memoryHistory";
import type { SessionRecord } from "./sessionRecord";

export interface History {
  readonly durable: boolean;
  sessions(): Promise<SessionRecord[]>;
  putSession(session: SessionRecord): Promise<void>;
  deleteSession(session: SessionRecord): Promise<void>;
  /** In order. */
  messages(log: string): Promise<StoredMessage[]>;
  addMessages(messages: StoredMessage[]): Promise<void>;
}

export async function openHistory(): Promise<History> {
  try {
    return await IndexedHistory.open();
  } catch {
    // Private windows and strict policies refuse IndexedDB; the side bar then says that sessions end with the tab.
    return new MemoryHistory();
  }
}
