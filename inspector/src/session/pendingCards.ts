/** How many cards wait for an answer, by session: the badges of the side bar. */

import { Observable } from "./observable";

export const pendingCards = new Observable<ReadonlyMap<string, number>>(new Map());

export function setPendingCards(sessionId: string, waiting: number): void {
  const before = pendingCards.get();
  if ((before.get(sessionId) ?? 0) === waiting) return;
  const next = new Map(before);
  if (waiting > 0) next.set(sessionId, waiting);
  else next.delete(sessionId);
  pendingCards.set(next);
}
