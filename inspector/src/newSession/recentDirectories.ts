/** Directories of the last sessions, newest first. */

import { parseJson } from "../json";
import { readStored, writeStored } from "../ui/hooks/useStored";

const KEPT = 8;

export function recentDirectories(): string[] {
  const stored = parseJson(readStored("recent-directories") ?? "");
  return Array.isArray(stored) ? stored.filter((one) => typeof one === "string") : [];
}

export function rememberDirectory(path: string): void {
  const rest = recentDirectories().filter((one) => one !== path);
  writeStored("recent-directories", JSON.stringify([path, ...rest].slice(0, KEPT)));
}
