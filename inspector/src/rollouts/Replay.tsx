/** The conversation of a recorded run, as it was at any moment; it can be played. */

import { useEffect, useState } from "react";
import { RowView } from "../conversation/RowView";
import { duration } from "../ui/format";
import { Icon } from "../ui/Icon";
import { useFollowingList } from "../ui/useFollowingList";
import { VirtualRows } from "../ui/VirtualRows";
import type { Recording } from "./recording";

const ESTIMATED_ROW_PX = 40;
/** A wait for a model or a tool is not played to its end. */
const LONGEST_PAUSE_MS = 1000;
const SPEEDS = [1, 4, 16];

export function Replay({ recording }: { recording: Recording }) {
  const [shown, setShown] = useState(recording.snapshot);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const { position } = shown;
  const atEnd = position >= recording.length;
  const isPlaying = playing && !atEnd;

  useEffect(() => {
    if (!isPlaying) return undefined;
    const wait = Math.min(recording.pause(position), LONGEST_PAUSE_MS) / speed;
    const timer = setTimeout(() => setShown(recording.at(position + 1)), wait);
    return () => clearTimeout(timer);
  }, [isPlaying, position, speed, recording]);

  const { scroller, scrolled, virtualizer } = useFollowingList({
    entries: shown.rows,
    keyOf: (index) => shown.rows[index]!.key,
    estimatedRowPx: ESTIMATED_ROW_PX,
  });
  const play = () => {
    if (atEnd) setShown(recording.at(0));
    setPlaying(!isPlaying);
  };
  const seek = (to: number) => {
    setPlaying(false);
    setShown(recording.at(to));
  };
  return (
    <section className="replay" aria-label="Replay">
      <div className="replay-controls">
        <button type="button" className="button small" onClick={play}>
          <Icon name={isPlaying ? "stop" : "play"} size={14} /> {isPlaying ? "Stop" : "Replay"}
        </button>
        <input
          type="range"
          aria-label="Position"
          aria-valuetext={`message ${position} of ${recording.length}`}
          min={0}
          max={recording.length}
          value={position}
          onChange={(event) => seek(Number(event.target.value))}
        />
        <span className="muted small-text nowrap">
          {duration(recording.elapsed(position))} · {position}/{recording.length}
        </span>
        <select aria-label="Speed" value={speed} onChange={(event) => setSpeed(Number(event.target.value))}>
          {SPEEDS.map((one) => (
            <option key={one} value={one}>
              {one}×
            </option>
          ))}
        </select>
      </div>
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
          render={(index) => <RowView row={shown.rows[index]!} instance={recording} answerable={false} />}
        />
      </div>
    </section>
  );
}
