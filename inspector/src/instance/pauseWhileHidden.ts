/**
 * Closes the stream of a tab that has been hidden for a while: a browser opens six connections to one host in
 * total, and hidden tabs would leave none for the visible one. The server keeps the events, so none is lost.
 */

const HIDDEN_FOR_MS = 20_000;

/** Calls `pause` when the tab has been hidden for 20 s, and `resume` when it is visible again. */
export function pauseWhileHidden(pause: () => void, resume: () => void): () => void {
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
