/** Follows the output of a process up to its end. A broken connection continues after the last entry. */

import type { ProcessLogEntry } from "../api/bodies";
import type { Http } from "../api/http";
import { ApiProblem } from "../api/problem";
import { processPath } from "../api/processes";
import { readEvents } from "../api/readEvents";
import type { TerminalExit } from "../terminals/terminalSocket";

export interface LogListener {
  entry(entry: ProcessLogEntry): void;
  gap(oldest: number): void;
  exit(exit: TerminalExit): void;
}

/** Entries that the first connection begins with. */
const SHOWN_ENTRIES = 2000;
const RETRY_MS = 1000;

/** Rejects with the answer of a server that refuses. */
export async function followLog(
  http: Http,
  id: string,
  listener: LogListener,
  signal: AbortSignal,
): Promise<void> {
  let last = 0;
  while (!signal.aborted) {
    const from = last === 0 ? { tail: String(SHOWN_ENTRIES) } : { since: String(last) };
    const options = { query: { follow: true, ...from }, signal, quiet: true };
    try {
      for await (const event of readEvents(http, `${processPath(id)}/logs`, options)) {
        if (event.event === "log") {
          const entry = JSON.parse(event.data) as ProcessLogEntry;
          last = entry.sequence;
          listener.entry(entry);
        } else if (event.event === "gap") listener.gap((JSON.parse(event.data) as { oldest: number }).oldest);
        else if (event.event === "exit") {
          listener.exit(JSON.parse(event.data) as TerminalExit);
          return;
        }
      }
    } catch (error) {
      if (error instanceof ApiProblem && error.status >= 400 && error.status < 500) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
