/** A position in a recording that plays with the time of the recording, and can be moved. */

import { useEffect, useEffectEvent, useRef, useState } from "react";
import type { Recording, RecordingSnapshot } from "./recording";

export interface Playback {
  shown: RecordingSnapshot;
  playing: boolean;
  speed: number;
  setSpeed: (speed: number) => void;
  /** Play or stop; at the end it begins from the start. */
  toggle: () => void;
  seek: (position: number) => void;
}

export function usePlayback(recording: Recording): Playback {
  const [shown, setShown] = useState(recording.snapshot);
  const [playing, setPlaying] = useState(false);
  const [speed, setSpeed] = useState(1);
  const wanted = useRef<number | undefined>(undefined);

  const advance = useEffectEvent((start: number, ms: number) => {
    const next = recording.playedFrom(start, ms * speed);
    if (next !== shown.position) setShown(recording.at(next));
    if (next >= recording.length) setPlaying(false);
  });
  const startedFrom = useEffectEvent(() => shown.position);
  useEffect(() => {
    if (!playing) return undefined;
    const start = startedFrom();
    const startedAt = performance.now();
    let frame = requestAnimationFrame(function step(now) {
      advance(start, Math.max(0, now - startedAt));
      frame = requestAnimationFrame(step);
    });
    return () => cancelAnimationFrame(frame);
    // A new speed counts from where it was chosen.
  }, [playing, speed]);

  /** Once per frame: a slider that is dragged asks more often, and going back reads from the start. */
  const seek = (position: number) => {
    setPlaying(false);
    if (wanted.current === undefined) {
      requestAnimationFrame(() => {
        const to = wanted.current ?? 0;
        wanted.current = undefined;
        setShown(recording.at(Math.min(Math.max(to, 0), recording.length)));
      });
    }
    wanted.current = position;
  };
  const toggle = () => {
    if (!playing && shown.position >= recording.length) setShown(recording.at(0));
    setPlaying(!playing);
  };
  return { shown, playing, speed, setSpeed, toggle, seek };
}
