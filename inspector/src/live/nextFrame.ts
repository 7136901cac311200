/** Before the next paint, or soon in a hidden tab: browsers stop animation frames there, but not timers. */

const HIDDEN_DELAY_MS = 200;

export function onNextFrame(run: () => void): void {
  if (typeof document === "undefined" || document.hidden) setTimeout(run, HIDDEN_DELAY_MS);
  else requestAnimationFrame(run);
}
