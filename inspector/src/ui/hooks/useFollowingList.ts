/** A virtual list that stays at its end while entries are added, until the user scrolls up. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";

const END_TOLERANCE_PX = 48;
/** A row counts as hidden if less than this part of it, or of the view, is on the screen. */
const SEEN_PART = 0.5;
const OVERSCAN_ROWS = 8;

interface Options {
  entries: readonly unknown[];
  keyOf: (index: number) => string | number;
  estimatedRowPx: number;
}

export function useFollowingList({ entries, keyOf, estimatedRowPx }: Options) {
  const scroller = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const lastTop = useRef(0);
  const [away, setAway] = useState(false);
  const virtualizer = useVirtualizer({
    count: entries.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => estimatedRowPx,
    getItemKey: keyOf,
    overscan: OVERSCAN_ROWS,
  });
  const size = virtualizer.getTotalSize();

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && following.current) element.scrollTop = element.scrollHeight;
  }, [entries, size]);

  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    // A notice or a taller composer makes the view smaller; the end must stay visible.
    const observer = new ResizeObserver(() => {
      if (following.current) element.scrollTop = element.scrollHeight;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const scrolled = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < END_TOLERANCE_PX;
    // Content that grows below must not look like scrolling up: only a move upwards stops the following.
    if (atEnd) following.current = true;
    else if (element.scrollTop < lastTop.current) following.current = false;
    lastTop.current = element.scrollTop;
    setAway(!following.current);
  }, []);

  /** Whether a row is really on the screen: the list also holds rows beyond its edges. */
  const isVisible = (index: number): boolean => {
    const row = virtualizer.getVirtualItems().find((one) => one.index === index);
    const top = virtualizer.scrollOffset ?? 0;
    const height = virtualizer.scrollRect?.height ?? 0;
    if (!row) return false;
    const seen = Math.min(row.end, top + height) - Math.max(row.start, top);
    return seen >= SEEN_PART * Math.min(row.size, height);
  };
  const showEntry = (index: number) => {
    following.current = false;
    virtualizer.scrollToIndex(index, { align: "center" });
  };
  const showEnd = () => {
    following.current = true;
    setAway(false);
    virtualizer.scrollToIndex(entries.length - 1, { align: "end" });
  };
  return { scroller, scrolled, virtualizer, size, away, isVisible, showEntry, showEnd };
}
