/** What the address names: the table, one run (`?run=`), or two of them side by side (`?run=` twice). */

import { Observable } from "../state/observable";

export const shownRuns = new Observable<readonly string[]>(fromAddress());

export function showRuns(ids: readonly string[]): void {
  const query = new URLSearchParams(ids.map((id) => ["run", id]));
  window.history.pushState(null, "", ids.length > 0 ? `?${query.toString()}` : window.location.pathname);
  shownRuns.set(ids);
}

function fromAddress(): string[] {
  return new URLSearchParams(globalThis.location?.search).getAll("run").slice(0, 2);
}

globalThis.addEventListener?.("popstate", () => shownRuns.set(fromAddress()));
