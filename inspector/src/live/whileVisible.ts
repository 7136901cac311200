/**
 * Streams of hidden tabs are closed after a while: a browser opens six connections to one host in all, and
 * forgotten tabs would starve the one in use. Nothing is lost, the server keeps the events.
 */

const HIDDEN_FOR_MS = 20_000;

/** Calls `pause` when the tab has been hidden for a while and `resume` when it is seen again. */
export function whileVisible(pause: () => void, resume: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let paused = false;
  const changed = () => {
    clearTimeout(timer);
    if (document.hidden) {
      timer = setTimeout(() => {
        paused = true;
        pause();
      }, HIDDEN_FOR_MS);
    } else if (paused) {
      paused = false;
      resume();
    }
  };
  document.addEventListener("visibilitychange", changed);
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", changed);
  };
}
