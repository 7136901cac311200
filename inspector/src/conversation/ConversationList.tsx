/** The conversation as a virtual list: only the visible rows are in the page. */

import type { Instance } from "../instance/instance";
import { useInstance } from "../instance/useInstance";
import { Empty } from "../ui/Empty";
import { Icon } from "../ui/Icon";
import { useFollowingList } from "../ui/useFollowingList";
import { VirtualRows } from "../ui/VirtualRows";
import { LiveRegion } from "./LiveRegion";
import { RowView } from "./RowView";

const ESTIMATED_ROW_PX = 40;

export function ConversationList({ instance, answerable }: { instance: Instance; answerable: boolean }) {
  const { conversation, rows, pendingRow } = useInstance(instance);
  const { scroller, scrolled, virtualizer, away, showEntry, showEnd } = useFollowingList({
    entries: rows,
    keyOf: (index) => rows[index]!.key,
    estimatedRowPx: ESTIMATED_ROW_PX,
  });
  const visible = virtualizer.getVirtualItems();
  const pendingHidden = pendingRow >= 0 && away && !visible.some((row) => row.index === pendingRow);
  const working = conversation.turns.length > 0 && pendingRow < 0;
  return (
    <div className="conversation-frame">
      <LiveRegion text={conversation.announcement} />
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
        <VirtualRows
          virtualizer={virtualizer}
          render={(index) => <RowView row={rows[index]!} instance={instance} answerable={answerable} />}
        />
        {working && (
          <div className="working" role="status" aria-label="The agent is working">
            <i />
            <i />
            <i />
          </div>
        )}
      </div>
      {pendingHidden ? (
        <button type="button" className="jump attention" onClick={() => showEntry(pendingRow)}>
          <Icon name="question" size={14} /> The agent waits for your answer
        </button>
      ) : (
        away && (
          <button type="button" className="jump" onClick={showEnd}>
            <Icon name="arrowDown" size={14} /> Latest
          </button>
        )
      )}
    </div>
  );
}
