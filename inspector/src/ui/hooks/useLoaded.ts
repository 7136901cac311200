/** Loads data when the component appears, again when `load` changes, and on demand. Callers memoise `load`. */

import { useCallback, useEffect, useState } from "react";

export interface Loaded<T> {
  /** The latest value; kept while another one is being loaded. */
  value: T | undefined;
  error: unknown;
  loading: boolean;
  reload: () => void;
}

interface Settled<T> {
  load: () => Promise<T>;
  round: number;
  value?: T;
  error?: unknown;
}

export function useLoaded<T>(load: () => Promise<T>): Loaded<T> {
  const [round, setRound] = useState(0);
  const [settled, setSettled] = useState<Settled<T> | undefined>();
  useEffect(() => {
    let current = true;
    load().then(
      (value) => current && setSettled({ load, round, value }),
      (error: unknown) => current && setSettled({ load, round, error }),
    );
    return () => {
      current = false;
    };
  }, [load, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const loading = settled?.load !== load || settled.round !== round;
  return { value: settled?.value, error: settled?.error, loading, reload };
}
