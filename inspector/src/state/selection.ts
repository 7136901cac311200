/** What the panels show: which panel is open, the open instance and directory, and an event to jump to. */

import type { Instance } from "../instance/instance";
import { readStored, writeStored } from "../ui/useStored";
import { Observable } from "./observable";

export const selectedInstance = new Observable<Instance | undefined>(undefined);

/** The directory of the open session, where the Files, MCP and Skills panels start. */
export const selectedDirectory = new Observable<string>("");

/** Position of a message that the Events panel shows. */
export const selectedEvent = new Observable<number | undefined>(undefined);

const EVENTS = "Events";
export const PANELS = [EVENTS, "Agents", "Files", "MCP", "Skills", "Requests"] as const;
export type PanelName = (typeof PANELS)[number];

export const selectedPanel = new Observable<PanelName>(
  PANELS.find((name) => name === readStored("dock-tab")) ?? EVENTS,
);

export function showPanel(name: PanelName): void {
  writeStored("dock-tab", name);
  selectedPanel.set(name);
}

export function showEvent(n: number): void {
  selectedEvent.set(n);
  showPanel(EVENTS);
}
