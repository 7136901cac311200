/**
 * The diff of a directory against its last commit, read again when files change. While one read is under way,
 * any number of changes lead to one more; between two reads there is a pause.
 */

import type { GitDiff } from "../api/bodies";
import type { Http } from "../api/http";
import type { ApiProblem } from "../api/problem";
import { Observable } from "../state/observable";
import { watchDirectory } from "./watchDirectory";

export interface ChangesState {
  diff?: GitDiff;
  error?: unknown;
  /** Whether the server reports changes as they happen, and why not. */
  live: boolean;
  watchProblem?: ApiProblem;
  /** When each file's diff last became another one, for files that changed while the panel was open. */
  changedAt: ReadonlyMap<string, number>;
}

const PAUSE_MS = 300;

export class ChangesReader {
  readonly state = new Observable<ChangesState>({ live: false, changedAt: new Map() });
  private readonly leaving = new AbortController();
  private reading = false;
  private wanted = false;

  constructor(
    private readonly http: Http,
    private readonly path: string,
  ) {
    const listener = {
      changed: () => this.read(),
      state: (live: boolean, watchProblem?: ApiProblem) => this.change({ live, watchProblem }),
    };
    this.read();
    void watchDirectory(http, path, listener, this.leaving.signal);
  }

  /** Read now, or once more after the read that is under way. */
  readonly read = (): void => {
    this.wanted = true;
    if (!this.reading) void this.readWhileWanted();
  };

  close(): void {
    this.leaving.abort();
  }

  private async readWhileWanted(): Promise<void> {
    this.reading = true;
    while (this.wanted && !this.leaving.signal.aborted) {
      this.wanted = false;
      const { signal } = this.leaving;
      try {
        const query = { path: this.path };
        const diff = await this.http.json<GitDiff>("/v1/git/diff", { query, signal, quiet: true });
        const changedAt = changedFiles(this.state.get(), diff, Date.now());
        this.change({ diff, error: undefined, changedAt });
      } catch (error) {
        if (!signal.aborted) this.change({ error });
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
    this.reading = false;
  }

  private change(fields: Partial<ChangesState>): void {
    if (!this.leaving.signal.aborted) this.state.set({ ...this.state.get(), ...fields });
  }
}

/** The first diff shows what was there; files that differ in a later one have changed meanwhile. */
export function changedFiles(before: ChangesState, now: GitDiff, time: number): ReadonlyMap<string, number> {
  if (!before.diff) return before.changedAt;
  const known = new Map(before.diff.files.map((file) => [file.path, file.patch ?? file.status]));
  const changed = new Map(before.changedAt);
  for (const file of now.files) {
    if (known.get(file.path) !== (file.patch ?? file.status)) changed.set(file.path, time);
  }
  return changed;
}
