/** The border of a pane: dragged, moved by the arrow keys, folded by a double click or Enter. */

import { useRef, type KeyboardEvent, type PointerEvent } from "react";
import { useObservable } from "../state/observable";
import { foldPane, paneLimits, paneSizes, resizePane, type PaneName } from "../state/paneSizes";

const STEP_PX = 24;

export function Splitter({ pane, label }: { pane: PaneName; label: string }) {
  const { width, folded } = useObservable(paneSizes)[pane];
  const start = useRef<{ x: number; width: number } | undefined>(undefined);
  // Moving to the right makes the side bar wider and the dock narrower.
  const direction = pane === "side" ? 1 : -1;
  const { least, most } = paneLimits(pane);
  if (folded) return <div className={`splitter ${pane}-splitter`} aria-hidden="true" />;

  const down = (event: PointerEvent<HTMLDivElement>) => {
    start.current = { x: event.clientX, width };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent) => {
    if (start.current) resizePane(pane, start.current.width + direction * (event.clientX - start.current.x));
  };
  const pressed = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -STEP_PX, ArrowRight: STEP_PX }[event.key];
    if (step) resizePane(pane, width + direction * step);
    else if (event.key === "Enter") foldPane(pane, true);
    else return;
    event.preventDefault();
  };
  return (
    <div
      className={`splitter ${pane}-splitter`}
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width}
      aria-valuemin={least}
      aria-valuemax={most}
      tabIndex={0}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={() => (start.current = undefined)}
      onDoubleClick={() => foldPane(pane, true)}
      onKeyDown={pressed}
    />
  );
}
