/** A virtual list of events that follows its end; `show` brings an entry into view. */

import { useEffect, useEffectEvent, type ReactNode } from "react";
import { useFollowingList } from "../../ui/hooks/useFollowingList";
import { VirtualRows } from "../../ui/VirtualRows";

interface Props<T> {
  label: string;
  entries: readonly T[];
  keyOf: (entry: T) => string | number;
  render: (entry: T) => ReactNode;
  /** Index to bring into view. */
  show?: number;
}

const ESTIMATED_ROW_PX = 32;

export function FollowingList<T>({ label, entries, keyOf, render, show }: Props<T>) {
  const { scroller, scrolled, virtualizer, showEntry } = useFollowingList({
    entries,
    keyOf: (index) => keyOf(entries[index]!),
    estimatedRowPx: ESTIMATED_ROW_PX,
  });
  const bringIntoView = useEffectEvent(showEntry);
  useEffect(() => {
    if (show !== undefined && show >= 0) bringIntoView(show);
  }, [show]);
  return (
    <div
      className="following"
      ref={scroller}
      onScroll={scrolled}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <VirtualRows virtualizer={virtualizer} render={(index) => render(entries[index]!)} />
    </div>
  );
}
