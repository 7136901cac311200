/** The conversation as a virtual list: only the visible rows are in the page. */

import { useEffect, useEffectEvent, useMemo, useRef, useState } from "react";
import type { Instance } from "../instance/instance";
import { useInstance } from "../instance/useInstance";
import type { OpenSession } from "../session/openSession";
import { useObservable } from "../state/observable";
import { selectedCard } from "../state/selection";
import { Empty } from "../ui/Empty";
import { Icon } from "../ui/Icon";
import { useFollowingList } from "../ui/hooks/useFollowingList";
import { VirtualRows } from "../ui/VirtualRows";
import { ConversationSearch } from "./search/ConversationSearch";
import { LiveRegion } from "./LiveRegion";
import { PromptActions } from "./promptActions";
import { rowOfItem } from "./rowOfItem";
import { RowView } from "./rows/RowView";

const ESTIMATED_ROW_PX = 40;

interface Props {
  instance: Instance;
  answerable: boolean;
  /** The session of this browser, whose prompts can be sent again. */
  open?: OpenSession;
}

export function ConversationList({ instance, answerable, open }: Props) {
  const { conversation, rows, pendingRow } = useInstance(instance);
  const [found, setFound] = useState(-1);
  const prompts = useMemo(() => open && new PromptActions(open), [open]);
  const { scroller, scrolled, virtualizer, away, isVisible, showEntry, showEnd } = useFollowingList({
    entries: rows,
    keyOf: (index) => rows[index]!.key,
    estimatedRowPx: ESTIMATED_ROW_PX,
  });
  const pendingHidden = pendingRow >= 0 && !isVisible(pendingRow);
  const working = conversation.turns.length > 0 && pendingRow < 0;

  // One's own prompt is always in sight, with the answer that follows it.
  const { sentPrompts } = conversation;
  const known = useRef(sentPrompts);
  const follow = useEffectEvent(showEnd);
  useEffect(() => {
    if (sentPrompts !== known.current) follow();
    known.current = sentPrompts;
  }, [sentPrompts]);

  const show = (index: number) => {
    setFound(index);
    if (index >= 0) showEntry(index);
  };
  // The timeline leads to the card of a span.
  const asked = useObservable(selectedCard);
  const seen = useRef(asked);
  const showAsked = useEffectEvent((item: string) => show(rowOfItem(rows, item)));
  useEffect(() => {
    if (asked && asked !== seen.current) showAsked(asked.item);
    seen.current = asked;
  }, [asked]);
  return (
    <div className="conversation-frame">
      <LiveRegion text={conversation.announcement} />
      <ConversationSearch rows={rows} show={show} />
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
          marked={found}
          render={(index) => (
            <RowView row={rows[index]!} instance={instance} answerable={answerable} prompts={prompts} />
          )}
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
