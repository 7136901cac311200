/** The last HTTP calls of this tab, for the Requests panel. Tokens are never kept. */

export interface LoggedRequest {
  id: number;
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string;
  startedAt: number;
  durationMs?: number;
  status?: number;
  responseBody?: string;
  responseType?: string;
  error?: string;
}

const KEPT_REQUESTS = 200;
const KEPT_BODY_CHARS = 20_000;

export class RequestLog {
  private entries: readonly LoggedRequest[] = [];
  private listeners = new Set<() => void>();
  private nextId = 1;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): readonly LoggedRequest[] => this.entries;

  begin(entry: Omit<LoggedRequest, "id" | "startedAt">): number {
    const id = this.nextId++;
    const kept = { ...entry, id, startedAt: Date.now(), body: entry.body && clip(entry.body) };
    this.entries = [kept, ...this.entries].slice(0, KEPT_REQUESTS);
    this.tell();
    return id;
  }

  finish(id: number, change: Partial<LoggedRequest>): void {
    const responseBody = change.responseBody && clip(change.responseBody);
    this.entries = this.entries.map((entry) =>
      entry.id === id
        ? {
            ...entry,
            ...change,
            ...(responseBody ? { responseBody } : {}),
            durationMs: Date.now() - entry.startedAt,
          }
        : entry,
    );
    this.tell();
  }

  clear(): void {
    this.entries = [];
    this.tell();
  }

  private tell(): void {
    for (const listener of this.listeners) listener();
  }
}

function clip(text: string): string {
  return text.length > KEPT_BODY_CHARS
    ? `${text.slice(0, KEPT_BODY_CHARS)}… (${text.length} characters)`
    : text;
}
