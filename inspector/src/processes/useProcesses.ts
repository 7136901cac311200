/** The list of processes, read again every two seconds while it is shown. */

import { useCallback, useMemo } from "react";
import type { ProcessInfo } from "../api/bodies";
import { ProcessApi } from "../api/processes";
import { useAppState } from "../state/appState";
import type { Loaded } from "../ui/hooks/useLoaded";
import { usePolled } from "../ui/hooks/usePolled";

const INTERVAL_MS = 2000;

export function useProcesses(): { api: ProcessApi; processes: Loaded<ProcessInfo[]> } {
  const { http } = useAppState();
  const api = useMemo(() => new ProcessApi(http), [http]);
  const processes = usePolled(
    useCallback(() => api.list(), [api]),
    INTERVAL_MS,
  );
  return { api, processes };
}
