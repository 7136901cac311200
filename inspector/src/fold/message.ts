/** One message of an instance's log as this browser knows it, and its order among the others. */

import type { Gap } from "../api/instanceReader";
import type { Json } from "../json";

export type Sender = "agent" | "client";

export interface LoggedMessage {
  /** Position in this tab's log; it never changes while the log is open. */
  n: number;
  sender: Sender;
  /** The server's number of an agent message. Messages of clients have none. */
  eventId?: number;
  /** For a client's message: the last event seen when it was sent. */
  after: number;
  /**
   * In Unix milliseconds: when the server published an agent's message, or when this browser sent its own; 0 if
   * that is not known.
   */
  time: number;
  payload: Json;
  /** The server reported missing events at this position. */
  gap?: Gap;
}

/** A message as it is stored and sent to other tabs; ordered by `log`, `position`, `order`. */
export interface StoredMessage {
  log: string;
  position: number;
  /** 0 for the agent's message; later for what a client sent, or this browser added, after it. */
  order: number;
  sender: Sender;
  time: number;
  payload: Json;
  gap?: Gap;
}

/** Identifies one run of an instance: event numbers continue only within a run. */
export function logKey(origin: string, serverId: string, createdAtMs: number): string {
  return `${origin}|${serverId}|${createdAtMs}`;
}

export function fromStored(stored: StoredMessage, n: number): LoggedMessage {
  return {
    n,
    sender: stored.sender,
    eventId: stored.sender === "agent" && stored.order === 0 && !stored.gap ? stored.position : undefined,
    after: stored.position,
    time: stored.time,
    payload: stored.payload,
    ...(stored.gap ? { gap: stored.gap } : {}),
  };
}

export function toStored(message: LoggedMessage, log: string): StoredMessage {
  const position = message.eventId ?? message.after;
  // Milliseconds with a fraction of the list position: unique, and ordered within one tab.
  const order = message.eventId === undefined ? message.time + (message.n % 1000) / 1000 : 0;
  const { sender, time, payload, gap } = message;
  return { log, position, order, sender, time, payload, ...(gap ? { gap } : {}) };
}
