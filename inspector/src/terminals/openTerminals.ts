/**
 * The terminals of this tab. They stay connected while another panel is shown; after a reload the newest part of
 * their output is read from the log, and the socket continues where it ends.
 */

import type { ProcessInfo } from "../api/bodies";
import type { ProcessApi } from "../api/processes";
import { Observable } from "../state/observable";
import { bytesOfBase64 } from "./base64Bytes";
import { endText } from "./endText";
import { Screen } from "./screen";
import { TerminalSocket, type SocketState } from "./terminalSocket";

/** Entries of a log are single reads of at most 4 KiB. */
const REPLAYED_ENTRIES = 1000;

export class OpenTerminal {
  readonly screen: Screen;
  readonly state = new Observable<SocketState>("connecting");
  readonly problem = new Observable("");
  private socket: TerminalSocket | undefined;
  /** What was typed while the earlier output was being read. */
  private typed = "";
  private closed = false;

  constructor(
    private readonly api: ProcessApi,
    readonly id: string,
  ) {
    this.screen = new Screen({ readOnly: false, label: `Terminal ${id}` });
    this.screen.onInput((data) => {
      if (this.socket) this.socket.input(data);
      else this.typed += data;
    });
    this.screen.onResize(({ cols, rows }) => this.socket?.resize(cols, rows));
    void this.attach();
  }

  close(): void {
    this.closed = true;
    this.socket?.close();
    this.screen.close();
  }

  private async attach(): Promise<void> {
    let last = 0;
    try {
      for (const entry of (await this.api.logs(this.id, REPLAYED_ENTRIES)).entries) {
        this.screen.replay(bytesOfBase64(entry.data));
        last = entry.sequence;
      }
    } catch (error) {
      this.problem.set(error instanceof Error ? error.message : String(error));
    }
    if (this.closed) return;
    this.socket = new TerminalSocket((since) => this.api.terminalAddress(this.id, since), last, {
      output: (data) => this.screen.write(data),
      gap: (oldest) => this.screen.write(`\r\n[output before entry ${oldest} is no longer kept]\r\n`),
      exit: (exit) => this.screen.write(`\r\n[${endText(exit)}]\r\n`),
      error: (message) => this.problem.set(message),
      state: (state) => {
        if (state === "open") this.problem.set("");
        this.state.set(state);
      },
    });
    const { cols, rows } = this.screen.size;
    this.socket.resize(cols, rows);
    this.socket.input(this.typed);
  }
}

const open = new Map<string, OpenTerminal>();

export function openTerminal(api: ProcessApi, process: ProcessInfo): OpenTerminal {
  const key = terminalKey(api, process);
  const found = open.get(key) ?? new OpenTerminal(api, process.id);
  open.set(key, found);
  return found;
}

export function closeTerminal(api: ProcessApi, process: ProcessInfo): void {
  const key = terminalKey(api, process);
  open.get(key)?.close();
  open.delete(key);
}

/** A server that starts again counts its processes from 1. */
function terminalKey(api: ProcessApi, process: ProcessInfo): string {
  return `${api.http.origin} ${process.id} ${process.createdAtMs}`;
}
