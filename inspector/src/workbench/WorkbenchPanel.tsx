/** One of the panels about the sandbox, loaded when it is opened first. */

import { lazy } from "react";
import type { WorkbenchPanelName } from "./panelNames";

const PANELS = {
  Terminal: lazy(async () => ({ default: (await import("../terminals/TerminalsPanel")).TerminalsPanel })),
  Processes: lazy(async () => ({ default: (await import("../processes/ProcessesPanel")).ProcessesPanel })),
  Changes: lazy(async () => ({ default: (await import("../changes/ChangesPanel")).ChangesPanel })),
} satisfies Record<WorkbenchPanelName, unknown>;

export function WorkbenchPanel({ name }: { name: string }) {
  const Panel = name in PANELS ? PANELS[name as WorkbenchPanelName] : undefined;
  return Panel ? <Panel /> : null;
}
