/** A setting kept in localStorage. Falls back to memory where storage is refused. */

import { useState } from "react";

export function useStored(name: string, initial: string): [string, (value: string) => void] {
  const key = `sandbox-agent-inspector-${name}`;
  const [value, setValue] = useState(() => read(key) ?? initial);
  const change = (next: string) => {
    setValue(next);
    write(key, next);
  };
  return [value, change];
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // Storage is full or refused: the setting lasts as long as the tab.
  }
}
