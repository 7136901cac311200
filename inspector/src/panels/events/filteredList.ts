/** The entries of a growing list that pass a filter. Each entry is tested once, outside of rendering. */

import { useLayoutEffect, useState, useSyncExternalStore } from "react";

type Test<T> = (entry: T) => boolean;

export class FilteredList<T> {
  private readonly listeners = new Set<() => void>();
  private entries: readonly T[] | undefined;
  private test: Test<T> | undefined;
  private tested = 0;
  private passed: readonly T[] = [];

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  readonly snapshot = (): readonly T[] => this.passed;

  /** Take over new entries; all are tested again if the list or the test is another one. */
  update(entries: readonly T[], count: number, test: Test<T>): void {
    const before = this.passed;
    if (this.entries !== entries || this.test !== test) {
      this.entries = entries;
      this.test = test;
      this.tested = 0;
      this.passed = [];
    }
    if (this.tested < count) {
      const added = entries.slice(this.tested, count).filter(test);
      this.tested = count;
      if (added.length > 0) this.passed = [...this.passed, ...added];
    }
    if (this.passed !== before) for (const listener of this.listeners) listener();
  }
}

/** The first `count` entries that pass the test. Callers memoise the test. */
export function useFiltered<T>(entries: readonly T[], count: number, test: Test<T>): readonly T[] {
  const [list] = useState(() => new FilteredList<T>());
  // Before the paint, so that the list never shows the entries of an earlier filter.
  useLayoutEffect(() => list.update(entries, count, test), [list, entries, count, test]);
  return useSyncExternalStore(list.subscribe, list.snapshot);
}
