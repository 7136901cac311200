/** Calls back whenever something below a directory has changed; repeats the watch when it breaks. */

import type { Http } from "../api/http";
import { ApiProblem } from "../api/problem";
import { readEvents } from "../api/readEvents";

const RETRY_MS = 2000;
/** Directories whose changes are not shown; git writes to its own whenever it is asked something. */
const EXCLUDED = ".git,node_modules";

export interface WatchListener {
  changed(): void;
  /** Changes arrive by themselves, or why they do not. */
  state(live: boolean, problem?: ApiProblem): void;
}

export async function watchDirectory(
  http: Http,
  path: string,
  listener: WatchListener,
  signal: AbortSignal,
  recursive = true,
): Promise<void> {
  const query = { path, recursive, exclude: EXCLUDED };
  while (!signal.aborted) {
    try {
      for await (const event of readEvents(http, "/v1/fs/watch", { query, signal, quiet: true })) {
        if (event.event === "ready") listener.state(true);
        // Without numbers in the events, what changed before "ready" is only known by reading again.
        if (event.event !== "end") listener.changed();
      }
      if (!signal.aborted) listener.state(false);
    } catch (error) {
      if (signal.aborted) return;
      const problem = error instanceof ApiProblem ? error : undefined;
      listener.state(false, problem);
      if (problem && problem.status >= 400 && problem.status < 500 && problem.status !== 429) return;
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}
