/** Runs an action after a delay in which it can be taken back; asked for a second time, it runs at once. */

import { useCallback, useEffect, useEffectEvent, useState } from "react";

export function useDelayed(action: () => void, delayMs: number) {
  const [waiting, setWaiting] = useState(false);
  const act = useEffectEvent(() => {
    setWaiting(false);
    action();
  });
  useEffect(() => {
    if (!waiting) return undefined;
    const timer = setTimeout(() => act(), delayMs);
    return () => clearTimeout(timer);
  }, [waiting, delayMs]);
  const start = () => {
    if (waiting) {
      setWaiting(false);
      action();
    } else {
      setWaiting(true);
    }
  };
  const cancel = useCallback(() => setWaiting(false), []);
  return { waiting, start, cancel };
}
