/** Calls back when something in a directory has changed, while the tab is visible. */

import { useEffect, useEffectEvent, useState } from "react";
import { watchDirectory } from "../changes/watchDirectory";
import { useAppState } from "../state/appState";

/** Where the server reports no changes, the folder is read again at this interval. */
const POLL_MS = 4000;
/** Changes within this time lead to one call. */
const PAUSE_MS = 250;

/** Returns whether changes arrive as they happen. */
export function useDirectoryWatch(path: string, recursive: boolean, changed: () => void): boolean {
  const { http } = useAppState();
  const [live, setLive] = useState(false);
  const report = useEffectEvent(changed);
  useEffect(() => {
    if (!path) return undefined;
    let leaving = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const soon = (delay: number) => {
      timer ??= setTimeout(() => {
        timer = undefined;
        report();
      }, delay);
    };
    const listener = { changed: () => soon(PAUSE_MS), state: (now: boolean) => setLive(now) };
    const start = () => {
      leaving = new AbortController();
      void watchDirectory(http, path, listener, leaving.signal, recursive);
    };
    const stop = () => {
      leaving.abort();
      clearTimeout(timer);
      timer = undefined;
      setLive(false);
    };
    const visibility = () => {
      stop();
      if (!document.hidden) start();
    };
    start();
    document.addEventListener("visibilitychange", visibility);
    return () => {
      stop();
      document.removeEventListener("visibilitychange", visibility);
    };
  }, [http, path, recursive]);
  useEffect(() => {
    if (live) return undefined;
    const timer = setInterval(() => !document.hidden && report(), POLL_MS);
    return () => clearInterval(timer);
  }, [live]);
  return live;
}
