/** Light, dark or as the system has it. */

import { useEffect } from "react";
import { useStored } from "./useStored";

const ORDER = ["system", "light", "dark"] as const;

export interface Theme {
  name: string;
  next(): void;
}

export function useTheme(): Theme {
  const [name, setName] = useStored("theme", "system");
  useEffect(() => {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
  }, [name]);
  return { name, next: () => setName(ORDER[(ORDER.indexOf(name as never) + 1) % ORDER.length] ?? "system") };
}
