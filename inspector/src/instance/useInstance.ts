/** The snapshot of an instance; renders at most once per animation frame. */

import { useSyncExternalStore } from "react";
import type { Instance } from "./instance";
import type { InstanceSnapshot } from "./snapshot";

export function useInstance(instance: Instance): InstanceSnapshot {
  return useSyncExternalStore(instance.subscribe, instance.snapshot);
}
