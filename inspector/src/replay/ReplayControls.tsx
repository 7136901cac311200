/** The slider over the messages of a recording, and the keys that move it. */

import { useEffect, useEffectEvent, useId, type RefObject } from "react";
import { duration } from "../ui/format";
import { Icon } from "../ui/Icon";
import type { Recording } from "./recording";
import type { Playback } from "./usePlayback";

const SPEEDS = [1, 2, 4, 16];
/** More marks than this are a grey bar. */
const MOST_MARKS = 200;

interface Props {
  recording: Recording;
  playback: Playback;
  /** Where the keys work; without it, everywhere on the page. */
  keysInside?: RefObject<HTMLElement | null>;
}

export function ReplayControls({ recording, playback, keysInside }: Props) {
  const { shown, playing, speed, setSpeed, toggle, seek } = playback;
  const { position } = shown;
  const marks = useId();
  const toPrompt = (direction: -1 | 1) => seek(recording.promptFrom(position, direction));

  const pressed = useEffectEvent((event: KeyboardEvent) => {
    const target = event.target as HTMLElement;
    // The slider, buttons and fields have keys of their own.
    if (event.altKey || event.ctrlKey || event.metaKey || target.closest("input, select, textarea")) return;
    if (event.key === " " && !target.closest("button, a, summary")) toggle();
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      const direction = event.key === "ArrowLeft" ? -1 : 1;
      if (event.shiftKey) toPrompt(direction);
      else seek(position + direction);
    } else return;
    event.preventDefault();
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => pressed(event);
    const place = keysInside ? keysInside.current : document.body;
    place?.addEventListener("keydown", listen);
    return () => place?.removeEventListener("keydown", listen);
  }, [keysInside]);

  return (
    <div className="replay-controls" role="group" aria-label="Playback">
      <button
        type="button"
        className="button small replay-play"
        title={playing ? "Pause (Space)" : "Play (Space)"}
        onClick={toggle}
      >
        <Icon name={playing ? "pause" : "play"} size={14} /> {playing ? "Pause" : "Play"}
      </button>
      <button
        type="button"
        className="icon-button"
        aria-label="Previous prompt"
        title="Previous prompt (Shift+Left)"
        disabled={position === 0}
        onClick={() => toPrompt(-1)}
      >
        <Icon name="skipBack" />
      </button>
      <button
        type="button"
        className="icon-button"
        aria-label="Next prompt"
        title="Next prompt (Shift+Right)"
        disabled={position === recording.length}
        onClick={() => toPrompt(1)}
      >
        <Icon name="skipForward" />
      </button>
      <input
        type="range"
        aria-label="Position"
        aria-valuetext={`message ${position} of ${recording.length}`}
        min={0}
        max={recording.length}
        value={position}
        list={marks}
        onChange={(event) => seek(Number(event.target.value))}
      />
      <datalist id={marks}>
        {recording.prompts.length <= MOST_MARKS &&
          recording.prompts.map((at) => <option key={at} value={at + 1} />)}
      </datalist>
      <span className="replay-position muted small-text">
        {duration(recording.elapsed(position))} · {position.toLocaleString()}/
        {recording.length.toLocaleString()}
      </span>
      <select aria-label="Speed" value={speed} onChange={(event) => setSpeed(Number(event.target.value))}>
        {SPEEDS.map((one) => (
          <option key={one} value={one}>
            {one}×
          </option>
        ))}
      </select>
    </div>
  );
}
