/** The endpoints of processes and terminals. */

import type { ProcessInfo, ProcessLogs } from "./bodies";
import type { Http } from "./http";

export interface ProcessStart {
  command: string;
  args?: string[];
  cwd?: string;
  tty?: boolean;
  cols?: number;
  rows?: number;
}

export class ProcessApi {
  constructor(readonly http: Http) {}

  async list(): Promise<ProcessInfo[]> {
    const found = await this.http.json<{ processes: ProcessInfo[] }>("/v1/processes", { quiet: true });
    return found.processes;
  }

  start(wanted: ProcessStart): Promise<ProcessInfo> {
    return this.http.json("/v1/processes", { method: "POST", json: wanted });
  }

  stop(id: string): Promise<ProcessInfo> {
    return this.http.json(`${processPath(id)}/stop`, { method: "POST" });
  }

  kill(id: string): Promise<ProcessInfo> {
    return this.http.json(`${processPath(id)}/kill`, { method: "POST" });
  }

  async remove(id: string): Promise<void> {
    await this.http.checked(processPath(id), { method: "DELETE" });
  }

  /** The newest entries of the output, at most `tail`. */
  logs(id: string, tail: number): Promise<ProcessLogs> {
    const query = { tail: String(tail) };
    return this.http.json(`${processPath(id)}/logs`, { query, quiet: true });
  }

  /** The address of the terminal's WebSocket. The ticket in it is valid once, and is no token. */
  async terminalAddress(id: string, since: number): Promise<string> {
    const path = `${processPath(id)}/terminal`;
    const { ticket } = await this.http.json<{ ticket: string }>(`${path}/ticket`, {
      method: "POST",
      quiet: true,
    });
    return this.http.address(`${path}/ws`, { ticket, since: String(since) }).replace(/^http/, "ws");
  }
}

export function processPath(id: string): string {
  return `/v1/processes/${encodeURIComponent(id)}`;
}
