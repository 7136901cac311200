/** Loads something when the component appears or an input changes, and again on demand. */

import { useCallback, useEffect, useState } from "react";

export interface Loaded<T> {
  value: T | undefined;
  error: unknown;
  loading: boolean;
  reload(): void;
}

export function useLoaded<T>(load: () => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value?: T; error?: unknown; loading: boolean }>({ loading: true });
  const [round, setRound] = useState(0);
  useEffect(() => {
    let current = true;
    setState((before) => ({ ...before, loading: true }));
    load().then(
      (value) => current && setState({ value, loading: false }),
      (error: unknown) => current && setState({ error, loading: false }),
    );
    return () => {
      current = false;
    };
  }, [...inputs, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  return { value: state.value, error: state.error, loading: state.loading, reload };
}
