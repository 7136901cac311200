/** Two runs side by side. */

import type { RolloutsApi } from "../rolloutsApi";
import { RunView } from "./RunView";

export function Comparison({ api, ids }: { api: RolloutsApi; ids: readonly [string, string] }) {
  return (
    <main className="comparison" aria-label="Comparison">
      <RunView api={api} id={ids[0]} />
      <RunView api={api} id={ids[1]} />
    </main>
  );
}
