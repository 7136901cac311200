/** Times, sizes, counts and JSON for display. */

// Created once: a formatter per row costs more than drawing the row.
// 24 hours in every locale: as wide as any other time, and as logs and terminals write it.
const CLOCK = new Intl.DateTimeFormat([], {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});

export function clock(ms: number): string {
  // 0 stands for a time that is not known.
  return ms === 0 ? "" : CLOCK.format(ms);
}

/** Hours and minutes, with the day unless it is today. */
export function since(ms: number, now = Date.now()): string {
  const time = clock(ms).slice(0, 5);
  const day = new Date(ms).toLocaleDateString();
  return day === new Date(now).toLocaleDateString() ? time : `${day} ${time}`;
}

export function ago(ms: number, now = Date.now()): string {
  const seconds = Math.max(0, Math.round((now - ms) / 1000));
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return new Date(ms).toLocaleDateString();
}

export function duration(ms: number): string {
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

export function bytes(size: number): string {
  if (size < 1024) return `${size} B`;
  if (size < 1024 ** 2) return `${(size / 1024).toFixed(1)} KB`;
  return size < 1024 ** 3 ? `${(size / 1024 ** 2).toFixed(1)} MB` : `${(size / 1024 ** 3).toFixed(1)} GB`;
}

export function money({ amount, currency }: { amount: number; currency: string }): string {
  return `${amount.toFixed(4)} ${currency}`.trim();
}

export function pretty(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}

export function count(n: number, one: string, many = `${one}s`): string {
  return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}
