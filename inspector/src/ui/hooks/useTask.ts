/** Runs an asynchronous action of the user and keeps its error for display. */

import { useCallback, useState } from "react";

export interface Task {
  running: boolean;
  error: unknown;
  run: (action: () => Promise<unknown>) => Promise<boolean>;
}

export function useTask(): Task {
  const [running, setRunning] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const run = useCallback(async (action: () => Promise<unknown>) => {
    setRunning(true);
    setError(undefined);
    try {
      await action();
      return true;
    } catch (failure) {
      setError(failure);
      return false;
    } finally {
      setRunning(false);
    }
  }, []);
  return { running, error, run };
}
