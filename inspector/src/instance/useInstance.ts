/** The snapshot of an instance; renders at most once per animation frame. */

import { useSyncExternalStore } from "react";
import type { Instance, InstanceSnapshot } from "./instance";

export function useInstance(instance: Instance): InstanceSnapshot {
  return useSyncExternalStore(instance.subscribe, instance.snapshot);
}
