/** The theme: light, dark or that of the system. */

import { useEffect } from "react";
import { useStored } from "./useStored";

export interface Theme {
  name: string;
  next: () => void;
}

export function useTheme(): Theme {
  const [name, setName] = useStored("theme", "system");
  useEffect(() => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
  }, [name]);
  return { name, next: () => setName(nextTheme(name, prefersDark())) };
}

/** Each press changes what is seen: the system's theme is followed by the other one. */
export function nextTheme(name: string, systemDark: boolean): string {
  const [other, same] = systemDark ? ["light", "dark"] : ["dark", "light"];
  if (name === "system") return other;
  return name === other ? same : "system";
}

function prefersDark(): boolean {
  return window.matchMedia("(prefers-color-scheme: dark)").matches;
}
