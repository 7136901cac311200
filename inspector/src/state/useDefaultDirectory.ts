/** Fills an empty directory with the server's home, unless the user types one before the server answers. */

import { useEffect, useEffectEvent } from "react";
import { flushSync } from "react-dom";
import { useAppState } from "./appState";

export function useDefaultDirectory(directory: string, fill: (home: string) => void): void {
  const { api } = useAppState();
  const isEmpty = useEffectEvent(() => directory === "");
  const fillIfEmpty = useEffectEvent((home: string) => {
    if (directory !== "") return;
    flushSync(() => fill(home));
    // A user who is in the field already replaces it by typing, instead of typing behind it.
    const field = document.activeElement;
    if (field instanceof HTMLInputElement && field.value === home) field.select();
  });
  useEffect(() => {
    // Without the home directory the field stays empty.
    if (isEmpty()) api.homeDirectory().then(fillIfEmpty, () => undefined);
  }, [api]);
}
