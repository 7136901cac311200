/** History in IndexedDB. Two tabs on one server store a message twice under the same key, which changes nothing. */

import type { StoredMessage } from "../fold/message";
import type { History } from "./history";
import type { SessionRecord } from "./sessionRecord";

const NAME = "sandbox-agent-inspector";
const VERSION = 1;

export class IndexedHistory implements History {
  readonly durable = true;

  private constructor(private readonly database: IDBDatabase) {}

  static open(): Promise<IndexedHistory> {
    return new Promise((resolve, reject) => {
      const request = indexedDB.open(NAME, VERSION);
      request.onupgradeneeded = () => {
        request.result.createObjectStore("sessions", { keyPath: "id" });
        request.result.createObjectStore("messages", { keyPath: ["log", "position", "order"] });
      };
      request.onsuccess = () => resolve(new IndexedHistory(request.result));
      request.onerror = () => reject(request.error ?? new Error("IndexedDB refused"));
      request.onblocked = () => reject(new Error("IndexedDB is blocked by another tab"));
    });
  }

  async sessions(): Promise<SessionRecord[]> {
    return finished(
      this.database.transaction("sessions").objectStore("sessions").getAll() as IDBRequest<SessionRecord[]>,
    );
  }

  async putSession(session: SessionRecord): Promise<void> {
    await this.write("sessions", (store) => store.put(session));
  }

  async deleteSession(session: SessionRecord): Promise<void> {
    await this.write("sessions", (store) => store.delete(session.id));
    await this.write("messages", (store) => session.logs.forEach((log) => store.delete(wholeLog(log))));
  }

  async messages(log: string): Promise<StoredMessage[]> {
    return finished(
      this.database.transaction("messages").objectStore("messages").getAll(wholeLog(log)) as IDBRequest<
        StoredMessage[]
      >,
    );
  }

  async addMessages(messages: StoredMessage[]): Promise<void> {
    await this.write("messages", (store) => messages.forEach((row) => store.put(row)));
  }

  private write(name: string, change: (store: IDBObjectStore) => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const transaction = this.database.transaction(name, "readwrite", { durability: "relaxed" });
      transaction.oncomplete = () => resolve();
      transaction.onabort = () => reject(transaction.error ?? new Error("IndexedDB write failed"));
      change(transaction.objectStore(name));
    });
  }
}

function wholeLog(log: string): IDBKeyRange {
  return IDBKeyRange.bound([log], [log, []]);
}

function finished<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error ?? new Error("IndexedDB read failed"));
  });
}
