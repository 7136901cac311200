/**
 * The connection to one terminal: output as bytes in order, input, size. A lost connection is opened again from
 * the last entry seen, so that nothing is missing and nothing comes twice.
 */

import { isObject, numberAt, parseJson, textAt } from "../json";
import { ApiProblem } from "../api/problem";

export interface TerminalExit {
  exitCode?: number;
  signal?: string;
}

export type SocketState = "connecting" | "open" | "reconnecting" | "ended";

export interface SocketListener {
  output(data: Uint8Array): void;
  /** Output up to this entry is no longer kept. */
  gap(oldest: number): void;
  exit(exit: TerminalExit): void;
  error(message: string): void;
  state(state: SocketState): void;
}

/** What is typed while there is no connection, at most; the rest is dropped. */
const MAX_HELD_CHARS = 64 * 1024;
const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 5000;

export class TerminalSocket {
  private socket: WebSocket | undefined;
  private closed = false;
  private sequenceOfNextOutput: number;
  private delay = FIRST_RETRY_MS;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private size: { cols: number; rows: number } | undefined;
  private isReady = false;
  private held = "";

  /** @param address makes the address of a connection that begins after an entry */
  constructor(
    private readonly address: (since: number) => Promise<string>,
    private sequence: number,
    private readonly listener: SocketListener,
  ) {
    this.sequenceOfNextOutput = sequence;
    listener.state("connecting");
    void this.connect();
  }

  /** Text that cannot be sent now is sent when the connection is there. */
  input(data: string): void {
    if (this.isReady) this.send({ type: "input", data });
    else if (this.held.length + data.length <= MAX_HELD_CHARS) this.held += data;
  }

  resize(cols: number, rows: number): void {
    this.size = { cols, rows };
    this.send({ type: "resize", cols, rows });
  }

  close(): void {
    this.closed = true;
    clearTimeout(this.timer);
    this.socket?.close();
  }

  private send(frame: object): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(frame));
  }

  private async connect(): Promise<void> {
    let address: string;
    try {
      address = await this.address(this.sequence);
    } catch (error) {
      this.failed(error);
      return;
    }
    if (this.closed) return;
    const socket = new WebSocket(address);
    socket.binaryType = "arraybuffer";
    socket.onmessage = ({ data }) => this.take(data as ArrayBuffer | string);
    socket.onclose = () => {
      this.isReady = false;
      this.retry();
    };
    this.socket = socket;
  }

  private failed(error: unknown): void {
    // A record that is gone, or a token that is wrong, stays so.
    if (error instanceof ApiProblem && error.status >= 400 && error.status < 500) {
      this.closed = true;
      this.listener.error(error.message);
      this.listener.state("ended");
    } else this.retry();
  }

  private retry(): void {
    if (this.closed) return;
    this.listener.state("reconnecting");
    this.timer = setTimeout(() => void this.connect(), this.delay);
    this.delay = Math.min(this.delay * 2, LONGEST_RETRY_MS);
  }

  private take(data: ArrayBuffer | string): void {
    if (this.closed) return;
    if (typeof data !== "string") {
      this.sequence = this.sequenceOfNextOutput;
      this.listener.output(new Uint8Array(data));
      return;
    }
    const frame = parseJson(data);
    if (!isObject(frame)) return;
    if (frame.type === "ready") this.ready();
    else if (frame.type === "sequence")
      this.sequenceOfNextOutput = numberAt(frame, "sequence") ?? this.sequenceOfNextOutput;
    else if (frame.type === "gap") this.listener.gap(numberAt(frame, "oldest") ?? 0);
    else if (frame.type === "error") this.listener.error(textAt(frame, "message") ?? "");
    else if (frame.type === "exit") {
      this.closed = true;
      this.listener.exit({ exitCode: numberAt(frame, "exitCode"), signal: textAt(frame, "signal") });
      this.listener.state("ended");
    }
  }

  private ready(): void {
    this.delay = FIRST_RETRY_MS;
    this.listener.state("open");
    if (this.size) this.send({ type: "resize", ...this.size });
    this.isReady = true;
    const { held } = this;
    this.held = "";
    if (held) this.input(held);
  }
}
