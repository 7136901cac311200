/** Fills an empty directory with the server's home, unless somebody types one while the server is being asked. */

import { useEffect, useRef } from "react";
import { useWorkbench } from "./workbench";

export function useHomeWhenEmpty(directory: string, fill: (home: string) => void): void {
  const workbench = useWorkbench();
  const latest = useRef(directory);
  latest.current = directory;
  useEffect(() => {
    if (latest.current) return;
    workbench.api.homeDirectory().then(
      (home) => {
        if (!latest.current) fill(home);
      },
      () => undefined,
    );
  }, [workbench]);
}
