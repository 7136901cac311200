/** Loads data again and again while the component is shown and the tab is visible. Callers memoise `load`. */

import { useEffect } from "react";
import { useLoaded, type Loaded } from "./useLoaded";

export function usePolled<T>(load: () => Promise<T>, intervalMs: number): Loaded<T> {
  const loaded = useLoaded(load);
  const { loading, reload } = loaded;
  useEffect(() => {
    if (loading) return undefined;
    const timer = setTimeout(function again() {
      if (!document.hidden) reload();
    }, intervalMs);
    const visible = () => !document.hidden && reload();
    document.addEventListener("visibilitychange", visible);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", visible);
    };
  }, [loading, reload, intervalMs]);
  return loaded;
}
