/** The visible rows of a virtual list. */

import type { Virtualizer } from "@tanstack/react-virtual";
import type { ReactNode } from "react";

interface Props {
  virtualizer: Virtualizer<HTMLDivElement, Element>;
  render: (index: number) => ReactNode;
}

export function VirtualRows({ virtualizer, render }: Props) {
  return (
    <div className="virtual" style={{ height: virtualizer.getTotalSize() }}>
      {virtualizer.getVirtualItems().map((row) => (
        <div
          key={row.key}
          data-index={row.index}
          ref={virtualizer.measureElement}
          className="virtual-row"
          style={{ transform: `translateY(${row.start}px)` }}
        >
          {render(row.index)}
        </div>
      ))}
    </div>
  );
}
