/** Number of requests that wait for the user, by session: the badges of the side bar. */

import { Observable } from "./observable";

export const pendingCounts = new Observable<ReadonlyMap<string, number>>(new Map());

export function setPendingCount(sessionId: string, count: number): void {
  const before = pendingCounts.get();
  if ((before.get(sessionId) ?? 0) === count) return;
  const next = new Map(before);
  if (count > 0) next.set(sessionId, count);
  else next.delete(sessionId);
  pendingCounts.set(next);
}
