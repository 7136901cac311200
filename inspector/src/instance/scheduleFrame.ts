/** Runs a function before the next paint, or soon in a hidden tab, where browsers stop animation frames. */

const HIDDEN_DELAY_MS = 200;

export function scheduleFrame(run: () => void): void {
  if (typeof document === "undefined" || document.hidden) setTimeout(run, HIDDEN_DELAY_MS);
  else requestAnimationFrame(run);
}
