/** The theme: light, dark or that of the system. */

import { useEffect } from "react";
import { useStored } from "./useStored";

const ORDER = ["system", "light", "dark"] as const;

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
  return {
    name,
    next: () => setName(ORDER[(ORDER.findIndex((one) => one === name) + 1) % ORDER.length] ?? "system"),
  };
}
