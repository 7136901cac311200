/** Widths of the side bar and the dock, and whether they are folded; kept in the browser. */

import { Observable } from "./observable";
import { isObject, numberAt, parseJson } from "../json";
import { readStored, writeStored } from "../ui/hooks/useStored";

export type PaneName = "side" | "dock";

export interface PaneSize {
  width: number;
  folded: boolean;
}

export type PaneSizes = Record<PaneName, PaneSize>;

const LIMITS: Record<PaneName, { least: number; most: number; usual: number }> = {
  side: { least: 180, most: 480, usual: 264 },
  dock: { least: 280, most: 1200, usual: 440 },
};
/** Below this width three columns are too narrow to read, so the dock starts folded. */
const THREE_COLUMNS_PX = 1200;

export const paneSizes = new Observable<PaneSizes>({ side: restored("side"), dock: restored("dock") });

export function resizePane(name: PaneName, width: number): void {
  const { least, most } = LIMITS[name];
  change(name, { width: Math.round(Math.min(most, Math.max(least, width))), folded: false });
}

export function foldPane(name: PaneName, folded: boolean): void {
  change(name, { ...paneSizes.get()[name], folded });
}

export function paneLimits(name: PaneName): { least: number; most: number } {
  return LIMITS[name];
}

function change(name: PaneName, size: PaneSize): void {
  paneSizes.set({ ...paneSizes.get(), [name]: size });
  writeStored(`pane:${name}`, JSON.stringify(size));
}

function restored(name: PaneName): PaneSize {
  const stored = parseJson(readStored(`pane:${name}`) ?? "");
  if (isObject(stored)) {
    return { width: numberAt(stored, "width") ?? LIMITS[name].usual, folded: stored.folded === true };
  }
  return { width: LIMITS[name].usual, folded: name === "dock" && globalThis.innerWidth < THREE_COLUMNS_PX };
}
