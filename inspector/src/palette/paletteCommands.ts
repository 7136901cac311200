/** What the palette offers: actions, sessions and panels. */

import type { SessionRow } from "../sidebar/sessionRows";
import { STATE_LABELS } from "../sidebar/sessionRows";
import { currentRoute, go } from "../state/route";
import { panelsOf, showPanel } from "../state/selection";

export interface PaletteCommand {
  key: string;
  label: string;
  detail: string;
  run: () => void;
}

export interface PaletteActions {
  create: () => void;
  nextTheme: () => void;
  foldSide: () => void;
  foldDock: () => void;
  showShortcuts: () => void;
  /** On a narrow screen, shows the part that a command leads to. */
  showPane: (pane: "main" | "dock") => void;
}

export function paletteCommands(rows: readonly SessionRow[], actions: PaletteActions): PaletteCommand[] {
  const action = (label: string, run: () => void): PaletteCommand => ({
    key: `action:${label}`,
    label,
    detail: "action",
    run,
  });
  return [
    action("New session", actions.create),
    action("Needs you", () => {
      go({ page: "inbox" });
      actions.showPane("main");
    }),
    ...rows.map((row) => ({
      key: `session:${row.key}`,
      label: row.title,
      detail: `session · ${[row.facts[0], STATE_LABELS[row.state]].join(" · ")}`,
      run: () => {
        go(row.route);
        actions.showPane("main");
      },
    })),
    ...panelsOf(currentRoute.get()).map((name) => ({
      key: `panel:${name}`,
      label: name,
      detail: "panel",
      run: () => {
        showPanel(name);
        actions.showPane("dock");
      },
    })),
    action("Fold or show the side bar", actions.foldSide),
    action("Fold or show the panels", actions.foldDock),
    action("Change the theme", actions.nextTheme),
    action("Keyboard shortcuts", actions.showShortcuts),
  ];
}

/** The commands that contain every typed word; those whose label begins with the text come first. */
export function matchingCommands(commands: readonly PaletteCommand[], typed: string): PaletteCommand[] {
  const text = typed.trim().toLowerCase();
  const words = text.split(/\s+/).filter(Boolean);
  const begins = (one: PaletteCommand) => Number(one.label.toLowerCase().startsWith(text));
  return commands
    .filter((one) => words.every((word) => `${one.label} ${one.detail}`.toLowerCase().includes(word)))
    .sort((a, b) => begins(b) - begins(a));
}
