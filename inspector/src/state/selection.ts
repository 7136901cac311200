/** What the panels show: which panel is open, the open instance and directory, and an event to jump to. */

import type { Instance } from "../instance/instance";
import { readStored, writeStored } from "../ui/hooks/useStored";
import { WORKBENCH_PANELS } from "../workbench/panelNames";
import { Observable } from "./observable";
import { foldPane, paneSizes } from "./paneSizes";
import type { Route } from "./route";

export const selectedInstance = new Observable<Instance | undefined>(undefined);

/** The directory of the open session, where the Files, MCP and Skills panels start. */
export const selectedDirectory = new Observable<string>("");

/** Counts installs, so that every list of agents is read again. */
export const agentsChanged = new Observable(0);

/** Position of a message that the Events panel shows. */
export const selectedEvent = new Observable<number | undefined>(undefined);

/** An item of the conversation to scroll to, by its key; the number makes two requests for one item differ. */
export const selectedCard = new Observable<{ item: string; request: number } | undefined>(undefined);

/** A file that the Files panel opens; the number makes two requests for one file differ. */
export const selectedFile = new Observable<{ path: string; request: number } | undefined>(undefined);

const EVENTS = "Events";
const TIMELINE = "Timeline";
const FILES = "Files";
const PANELS = [EVENTS, TIMELINE, ...WORKBENCH_PANELS, "Agents", FILES, "MCP", "Skills", "Requests"] as const;
export type PanelName = (typeof PANELS)[number];

/** The panels of a page: Events and Timeline are about a conversation. */
export function panelsOf({ page }: Route): readonly PanelName[] {
  if (page === "session" || page === "server") return PANELS;
  return PANELS.filter((name) => name !== EVENTS && name !== TIMELINE);
}

/** The chosen panel, or the files of the sandbox on a page that does not have it. */
export function panelShown(route: Route, chosen: PanelName): PanelName {
  return panelsOf(route).includes(chosen) ? chosen : FILES;
}

export const selectedPanel = new Observable<PanelName>(
  PANELS.find((name) => name === readStored("dock-tab")) ?? EVENTS,
);

export function showPanel(name: PanelName): void {
  openDock();
  writeStored("dock-tab", name);
  selectedPanel.set(name);
}

export function showEvent(n: number): void {
  selectedEvent.set(n);
  showPanel(EVENTS);
}

export function showCard(item: string): void {
  selectedCard.set({ item, request: (selectedCard.get()?.request ?? 0) + 1 });
}

export function showFile(path: string): void {
  selectedFile.set({ path, request: (selectedFile.get()?.request ?? 0) + 1 });
  showPanel(FILES);
}

/** A panel that is asked for is shown even if the dock is folded. */
function openDock(): void {
  if (paneSizes.get().dock.folded) foldPane("dock", false);
}
