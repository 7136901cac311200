/** The conversation of a recorded session, as it was at any moment; it can be played. */

import { useRef } from "react";
import { RowView } from "../conversation/rows/RowView";
import { useFollowingList } from "../ui/hooks/useFollowingList";
import { VirtualRows } from "../ui/VirtualRows";
import type { Recording } from "./recording";
import { ReplayControls } from "./ReplayControls";
import "./replay.css";
import { usePlayback } from "./usePlayback";

const ESTIMATED_ROW_PX = 40;

interface Props {
  recording: Recording;
  /** The page shows nothing else, so the keys work everywhere in it. */
  alone?: boolean;
}

export function Replay({ recording, alone = false }: Props) {
  const section = useRef<HTMLElement>(null);
  const playback = usePlayback(recording);
  const { rows, conversation } = playback.shown;
  const { scroller, scrolled, virtualizer, showEnd } = useFollowingList({
    entries: rows,
    keyOf: (index) => rows[index]!.key,
    estimatedRowPx: ESTIMATED_ROW_PX,
  });
  // The end of the conversation is what the slider chose.
  const seek = (to: number) => {
    showEnd();
    playback.seek(to);
  };
  const working = conversation.turns.length > 0 && conversation.pendingRequests.length === 0;
  return (
    <section className="replay" aria-label="Replay" ref={section}>
      <ReplayControls
        recording={recording}
        playback={{ ...playback, seek }}
        keysInside={alone ? undefined : section}
      />
      <div
        className="conversation"
        ref={scroller}
        onScroll={scrolled}
        tabIndex={0}
        role="region"
        aria-label="Conversation"
      >
        <VirtualRows
          virtualizer={virtualizer}
          render={(index) => <RowView row={rows[index]!} instance={recording} answerable={false} />}
        />
        {working && (
          <div className="working" role="status" aria-label="The agent is working">
            <i />
            <i />
            <i />
          </div>
        )}
      </div>
    </section>
  );
}
