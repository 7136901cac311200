/** A virtual list that follows its end until one scrolls up. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, type ReactNode } from "react";

interface Props<T> {
  label: string;
  entries: readonly T[];
  keyOf(entry: T): string | number;
  render(entry: T): ReactNode;
  /** Index to bring into view. */
  show?: number;
  rowHeight: number;
}

export function FollowingList<T>({ label, entries, keyOf, render, show, rowHeight }: Props<T>) {
  const scroller = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const lastTop = useRef(0);
  const virtualizer = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => keyOf(entries[index]!),
    overscan: 8,
  });
  const size = virtualizer.getTotalSize();

  useLayoutEffect(() => {
    if (scroller.current && following.current) scroller.current.scrollTop = scroller.current.scrollHeight;
  }, [entries, size]);

  useEffect(() => {
    if (show === undefined || show < 0) return;
    following.current = false;
    virtualizer.scrollToIndex(show, { align: "center" });
  }, [show]);

  const scrolled = () => {
    const element = scroller.current;
    if (!element) return;
    if (element.scrollHeight - element.scrollTop - element.clientHeight < 30) following.current = true;
    else if (element.scrollTop < lastTop.current) following.current = false;
    lastTop.current = element.scrollTop;
  };
  return (
    <div
      className="following"
      ref={scroller}
      onScroll={scrolled}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <div className="virtual" style={{ height: size }}>
        {virtualizer.getVirtualItems().map((one) => (
          <div
            key={one.key}
            data-index={one.index}
            ref={virtualizer.measureElement}
            className="virtual-row"
            style={{ transform: `translateY(${one.start}px)` }}
          >
            {render(entries[one.index]!)}
          </div>
        ))}
      </div>
    </div>
  );
}
