/**
 * The log of one instance as this browser keeps it. Messages of the agent come from the event stream only, so their
 * order is the server's; messages that this browser sends are stored and passed on to its other tabs; those of other
 * clients come from the stream too.
 */

import type { Gap } from "../api/instanceReader";
import { fromStored, toStored, type LoggedMessage, type StoredMessage } from "../fold/message";
import type { Reading } from "../fold/messageReader";
import { SessionFold } from "../fold/sessionFold";
import type { Json, JsonObject } from "../json";
import type { History } from "../storage/history";
import type { TabChannel } from "../storage/tabChannel";
import { ClientMessages, type PostedMessage } from "./clientMessages";
import { MessageWriter } from "./messageWriter";

/** Time after connecting in which the server's replay arrives. */
const REPLAY_MS = 500;

export class InstanceLog {
  readonly fold = new SessionFold();
  lastEventId = 0;
  gaps = 0;
  private readonly clients = new ClientMessages();
  private readonly writer: MessageWriter;
  /** Stored messages of this browser that follow events which the stream has yet to replay. */
  private unplaced: StoredMessage[] = [];
  /** Messages sent before the key of the log was known. */
  private unstored: LoggedMessage[] = [];

  /**
   * @param key key of the log, or undefined while the instance is being started
   * @param keepEvents store the agent's messages too: for sessions of this browser, not for watched instances
   * @param changed called after each message
   */
  constructor(
    history: History,
    private readonly tabs: TabChannel,
    private key: string | undefined,
    private keepEvents: boolean,
    private readonly changed: () => void,
  ) {
    this.writer = new MessageWriter(history);
  }

  /** Number of the last message of a client that the stream brought. */
  get lastPosted(): number {
    return this.clients.last;
  }

  /** Read what other tabs of this browser send, until the returned function is called. */
  followTabs(): () => void {
    return this.tabs.subscribe((notice) => {
      if (notice.type === "sent" && notice.message.log === this.key) this.addHistory([notice.message]);
    });
  }

  /** Add stored messages at the end of the log. */
  addHistory(stored: readonly StoredMessage[]): void {
    for (const row of stored) {
      if (row.sender === "agent" || this.clients.isNew(row.payload))
        this.append(fromStored(row, this.fold.entries.length));
    }
  }

  /** Restore the current run: messages of this browser are placed among the events that the stream replays. */
  restore(stored: readonly StoredMessage[]): void {
    const events = stored.filter((row) => row.sender === "agent" && !row.gap);
    this.lastEventId = events.at(-1)?.position ?? 0;
    this.clients.restart(this.lastEventId);
    this.addHistory(stored.filter((row) => row.position <= this.lastEventId));
    this.unplaced = stored.filter((row) => row.position > this.lastEventId);
  }

  /** Restore what this browser sent to a watched instance; the stream replays everything else. */
  restoreSent(stored: readonly StoredMessage[]): void {
    this.unplaced = stored.filter((row) => row.sender === "client");
  }

  /** Set the key of the log, which contains the creation time that the server reports. */
  storeUnder(key: string, keepEvents: boolean): void {
    for (const message of this.unstored) this.writer.add(toStored(message, key));
    this.unstored = [];
    this.key = key;
    this.keepEvents = keepEvents;
  }

  /** The run is over: its open turns and requests end here. */
  endRun(): void {
    this.addHistory(this.unplaced.splice(0));
    this.fold.endRun();
    this.clients.restart(this.lastEventId);
    this.changed();
  }

  /** A run with a new numbering follows. */
  startNumbering(): void {
    this.lastEventId = 0;
    this.clients.restart(0);
  }

  /** A message of the agent from the stream; `time` as in `StreamListener`. */
  received(eventId: number, payload: Json, time: number | null | undefined): Reading {
    this.lastEventId = eventId;
    while (this.unplaced[0] && this.unplaced[0].position < eventId) this.addHistory([this.unplaced.shift()!]);
    const message = this.message(
      { sender: "agent", eventId, after: eventId, payload },
      time === null ? 0 : time,
    );
    const reading = this.append(message);
    if (this.key !== undefined && this.keepEvents) this.writer.add(toStored(message, this.key));
    return reading;
  }

  /** A message of any client from the stream. */
  posted(message: PostedMessage): void {
    this.clients.posted(message);
    this.addPosted();
  }

  /** Add what other clients posted before the next event. */
  addPosted(): void {
    for (const { after, timeMs, message: payload } of this.clients.due(this.lastEventId)) {
      const message = this.message({ sender: "client", after, payload }, timeMs);
      this.append(message);
      if (this.key !== undefined && this.keepEvents) this.writer.add(toStored(message, this.key));
    }
  }

  missed(gap: Gap): void {
    this.gaps += 1;
    const after = Math.max(0, gap.oldest - 1);
    this.append(this.message({ sender: "agent", after, payload: null, gap }));
  }

  /** A message of this tab. */
  sent(payload: JsonObject, after = this.lastEventId): void {
    if (!this.clients.isNew(payload)) return;
    const message = this.message({ sender: "client", after, payload });
    this.append(message);
    if (this.key === undefined) {
      this.unstored.push(message);
      return;
    }
    const row = toStored(message, this.key);
    this.writer.add(row);
    void this.writer.flush();
    this.tabs.post({ type: "sent", message: row });
  }

  /** Show an error like one of the agent, without storing it. */
  appendError(id: Json, error: JsonObject): void {
    const payload: JsonObject = { jsonrpc: "2.0", id, error };
    this.append(this.message({ sender: "agent", after: this.lastEventId, payload }));
  }

  /** Append what is unplaced once the replay of the stream is over: it was sent after the last event. */
  placeAfterReplay(): void {
    const rest = this.unplaced;
    if (rest.length === 0) return;
    setTimeout(() => {
      this.addHistory(rest.filter((row) => this.unplaced.includes(row)));
      this.unplaced = this.unplaced.filter((row) => !rest.includes(row));
    }, REPLAY_MS);
  }

  /** Resolves when everything seen so far can be read back from the history. */
  flush(): Promise<void> {
    return this.writer.flush();
  }

  private message(fields: Omit<LoggedMessage, "n" | "time">, time = Date.now()): LoggedMessage {
    return { n: this.fold.entries.length, time, ...fields };
  }

  private append(message: LoggedMessage): Reading {
    const reading = this.fold.add(message);
    this.changed();
    return reading;
  }
}
