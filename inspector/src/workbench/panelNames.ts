/** The panels about the sandbox itself: what runs in it and what changes. */

export const WORKBENCH_PANELS = ["Terminal", "Processes", "Changes"] as const;
export type WorkbenchPanelName = (typeof WORKBENCH_PANELS)[number];
