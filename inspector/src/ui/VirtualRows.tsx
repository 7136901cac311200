/** The visible rows of a virtual list. */

import type { Virtualizer } from "@tanstack/react-virtual";
import type { ReactNode } from "react";

interface Props {
  virtualizer: Virtualizer<HTMLDivElement, Element>;
  render: (index: number) => ReactNode;
  /** Index of a row to point out. */
  marked?: number;
}

export function VirtualRows({ virtualizer, render, marked = -1 }: Props) {
  return (
    <div className="virtual" style={{ height: virtualizer.getTotalSize() }}>
      {virtualizer.getVirtualItems().map((row) => (
        <div
          key={row.key}
          data-index={row.index}
          ref={virtualizer.measureElement}
          className={row.index === marked ? "virtual-row marked" : "virtual-row"}
          style={{ transform: `translateY(${row.start}px)` }}
        >
          {render(row.index)}
        </div>
      ))}
    </div>
  );
}
