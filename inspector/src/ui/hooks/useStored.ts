/** Settings kept in localStorage, or until the tab closes where storage is refused. */

import { useState } from "react";

const PREFIX = "sandbox-agent-inspector-";

export function useStored(name: string, initial: string): [string, (value: string) => void] {
  const [value, setValue] = useState(() => readStored(name) ?? initial);
  const change = (next: string) => {
    setValue(next);
    writeStored(name, next);
  };
  return [value, change];
}

export function readStored(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export function removeStored(name: string): void {
  try {
    localStorage.removeItem(PREFIX + name);
  } catch {
    // Storage is refused: nothing was kept.
  }
}

export function writeStored(name: string, value: string): void {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // Storage is full or refused: the setting lasts until the tab closes.
  }
}
