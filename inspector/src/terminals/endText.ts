/** How a process ended, in words. */

export function endText({ exitCode, signal }: { exitCode?: number | null; signal?: string | null }): string {
  if (signal) return `ended by ${signal}`;
  return exitCode === undefined || exitCode === null ? "ended" : `ended with code ${exitCode}`;
}
