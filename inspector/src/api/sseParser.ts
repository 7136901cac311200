/** Server-sent events out of text chunks, cut anywhere. Comments (heartbeats) are reported as such. */

export interface SseEvent {
  event: string;
  id?: string;
  data: string;
}

export class SseParser {
  private rest = "";
  private lines: string[] = [];
  /** Pieces of a line that is not complete yet: joined once, so a huge line costs no quadratic time. */
  private pieces: string[] = [];

  constructor(
    private readonly onEvent: (event: SseEvent) => void,
    private readonly onComment: () => void = () => {},
  ) {}

  feed(chunk: string): void {
    const last = chunk.lastIndexOf("\n");
    if (last < 0) {
      this.pieces.push(chunk);
      return;
    }
    const text = this.pieces.join("") + chunk.slice(0, last);
    this.rest = chunk.slice(last + 1);
    this.pieces = this.rest ? [this.rest] : [];
    for (const line of text.split("\n")) this.line(line.endsWith("\r") ? line.slice(0, -1) : line);
  }

  private line(line: string): void {
    if (line === "") {
      this.dispatch();
    } else if (line.startsWith(":")) {
      this.onComment();
    } else {
      this.lines.push(line);
    }
  }

  private dispatch(): void {
    if (this.lines.length === 0) return;
    const event: SseEvent = { event: "message", data: "" };
    const data: string[] = [];
    for (const line of this.lines) {
      const colon = line.indexOf(":");
      const field = colon < 0 ? line : line.slice(0, colon);
      const raw = colon < 0 ? "" : line.slice(colon + 1);
      const value = raw.startsWith(" ") ? raw.slice(1) : raw;
      if (field === "data") data.push(value);
      else if (field === "event") event.event = value;
      else if (field === "id") event.id = value;
    }
    this.lines = [];
    event.data = data.join("\n");
    this.onEvent(event);
  }
}
