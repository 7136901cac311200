/** A growing list, filtered. Only new entries are looked at, unless the filter itself changes. */

import { useRef } from "react";

export function useFiltered<T>(
  entries: readonly T[],
  count: number,
  filterKey: string,
  keep: (entry: T) => boolean,
): readonly T[] {
  const memory = useRef<{ entries: readonly T[]; key: string; upTo: number; kept: T[] }>({
    entries: [],
    key: "",
    upTo: 0,
    kept: [],
  });
  const current = memory.current;
  if (current.entries !== entries || current.key !== filterKey || current.upTo > count) {
    memory.current = { entries, key: filterKey, upTo: 0, kept: [] };
  }
  const state = memory.current;
  if (state.upTo < count) {
    const added = entries.slice(state.upTo, count).filter(keep);
    if (added.length > 0) state.kept = [...state.kept, ...added];
    state.upTo = count;
  }
  return state.kept;
}
