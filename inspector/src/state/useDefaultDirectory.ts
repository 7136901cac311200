/** Fills an empty directory with the server's home, unless the user types one before the server answers. */

import { useEffect, useEffectEvent } from "react";
import { useAppState } from "./appState";

export function useDefaultDirectory(directory: string, fill: (home: string) => void): void {
  const { api } = useAppState();
  const isEmpty = useEffectEvent(() => directory === "");
  const fillIfEmpty = useEffectEvent((home: string) => {
    if (directory === "") fill(home);
  });
  useEffect(() => {
    // Without the home directory the field stays empty.
    if (isEmpty()) api.homeDirectory().then(fillIfEmpty, () => undefined);
  }, [api]);
}
