/** Opens the palette with Ctrl+K and the list of keys with "?". Both are loaded when they are opened first. */

import { lazy, Suspense, useEffect, useState } from "react";
import type { PaletteActions } from "./paletteCommands";

const Palette = lazy(async () => ({ default: (await import("./Palette")).Palette }));
const Shortcuts = lazy(async () => ({ default: (await import("./Shortcuts")).Shortcuts }));

type Shown = "palette" | "shortcuts" | undefined;

export function PaletteKeys({ actions }: { actions: Omit<PaletteActions, "showShortcuts"> }) {
  const [shown, setShown] = useState<Shown>();
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && !event.shiftKey && event.key.toLowerCase() === "k") {
        // A terminal keeps its keys: Ctrl+K deletes there to the end of the line.
        if (inTerminal(event.target)) return;
        event.preventDefault();
        if (!document.querySelector("dialog[open]")) setShown("palette");
      } else if (event.key === "?" && !isTyping(event.target)) {
        if (!document.querySelector("dialog[open]")) setShown("shortcuts");
      }
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
  const close = () => setShown(undefined);
  return (
    <Suspense>
      {shown === "palette" && (
        <Palette actions={{ ...actions, showShortcuts: () => setShown("shortcuts") }} close={close} />
      )}
      {shown === "shortcuts" && <Shortcuts close={close} />}
    </Suspense>
  );
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest("input, textarea, select, .screen, form") !== null;
}

function inTerminal(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest(".screen") !== null;
}
