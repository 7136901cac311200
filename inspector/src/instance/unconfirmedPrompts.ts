/**
 * Prompts whose POST broke: the server may have got them. What the server lists later decides: if it waits for no
 * answer, and its log has none, the prompt did not arrive.
 */

import { ApiProblem } from "../api/problem";

export interface ServerProgress {
  pendingRequests: number;
  lastEventId: number;
}

export class UnconfirmedPrompts {
  /** Time of the failure, by the id of the request. */
  private readonly failedAt = new Map<string, number>();

  add(id: string): void {
    this.failedAt.set(id, Date.now());
  }

  clear(): void {
    this.failedAt.clear();
  }

  /**
   * Prompts about which the list of the server decides, and whether they can have arrived.
   *
   * @param askedAt when the list was asked for
   * @param readUntil number of the last event that the page has read
   */
  *settled(server: ServerProgress, askedAt: number, readUntil: number): Iterable<string> {
    for (const [id, failedAt] of this.failedAt) {
      if (askedAt < failedAt || server.lastEventId > readUntil) continue;
      this.failedAt.delete(id);
      if (server.pendingRequests === 0) yield id;
    }
  }
}

export function promptNotSent(): ApiProblem {
  return new ApiProblem("unreachable", 0, "The prompt did not reach the agent", "The connection broke.");
}
