/** The conversation, virtualised: only what is in view is in the page. Follows the end unless one scrolls up. */

import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import type { Instance } from "../live/instance";
import { useInstance } from "../live/useInstance";
import { Empty } from "../ui/Empty";
import { Icon } from "../ui/Icon";
import { Announcer } from "./Announcer";
import { RowView } from "./RowView";
import { RowBuilder } from "./rows";

const ESTIMATED_ROW_PX = 40;
const END_TOLERANCE_PX = 48;

export function ConversationList({ instance, answerable }: { instance: Instance; answerable: boolean }) {
  const { conversation } = useInstance(instance);
  const builder = useMemo(() => new RowBuilder(), [instance]);
  const rows = useMemo(() => builder.rows(conversation.items), [builder, conversation.items]);
  const scroller = useRef<HTMLDivElement>(null);
  const following = useRef(true);
  const lastTop = useRef(0);
  const [away, setAway] = useState(false);

  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATED_ROW_PX,
    getItemKey: (index) => rows[index]!.key,
    overscan: 6,
  });
  const size = virtualizer.getTotalSize();

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && following.current) element.scrollTop = element.scrollHeight;
  }, [rows, size]);

  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    // A notice or a taller composer makes the view smaller; the end must stay in it.
    const watcher = new ResizeObserver(() => {
      if (following.current) element.scrollTop = element.scrollHeight;
    });
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);

  const scrolled = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    const atEnd = element.scrollHeight - element.scrollTop - element.clientHeight < END_TOLERANCE_PX;
    // Content growing below must not look like scrolling up: only a move upwards stops the following.
    if (atEnd) following.current = true;
    else if (element.scrollTop < lastTop.current) following.current = false;
    lastTop.current = element.scrollTop;
    setAway(!following.current);
  }, []);

  const toEnd = () => {
    following.current = true;
    setAway(false);
    virtualizer.scrollToIndex(rows.length - 1, { align: "end" });
  };

  const pending = rows.findIndex(
    (row) => row.type === "item" && row.item.kind === "request" && row.item.state === "pending",
  );
  const visible = virtualizer.getVirtualItems();
  const pendingHidden = pending >= 0 && away && !visible.some((one) => one.index === pending);
  const thinking = conversation.turns.length > 0 && pending < 0;
  return (
    <div className="conversation-frame">
      <Announcer conversation={conversation} />
      <div
        className="conversation"
        ref={scroller}
        onScroll={scrolled}
        tabIndex={0}
        role="region"
        aria-label="Conversation"
        data-turns={conversation.endedTurns}
      >
        {rows.length === 0 && (
          <Empty title="Nothing said yet">
            Write a prompt below. With the mock agent, <code>demo</code> shows everything and{" "}
            <code>help</code> lists its commands.
          </Empty>
        )}
        <div className="virtual" style={{ height: size }}>
          {visible.map((one) => {
            const row = rows[one.index]!;
            return (
              <div
                key={one.key}
                data-index={one.index}
                ref={virtualizer.measureElement}
                className="virtual-row"
                style={{ transform: `translateY(${one.start}px)` }}
              >
                <RowView row={row} instance={instance} answerable={answerable} />
              </div>
            );
          })}
        </div>
        {thinking && (
          <div className="thinking" role="status" aria-label="The agent is working">
            <i />
            <i />
            <i />
          </div>
        )}
      </div>
      {pendingHidden ? (
        <button
          type="button"
          className="jump attention"
          onClick={() => virtualizer.scrollToIndex(pending, { align: "center" })}
        >
          <Icon name="question" size={14} /> The agent waits for your answer
        </button>
      ) : (
        away && (
          <button type="button" className="jump" onClick={toEnd}>
            <Icon name="arrowDown" size={14} /> Latest
          </button>
        )
      )}
    </div>
  );
}
