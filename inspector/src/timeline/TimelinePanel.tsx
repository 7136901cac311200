/** The turns of the open conversation as waterfalls, with their times, tokens and cost. */

import { useMemo, useState } from "react";
import type { Instance } from "../instance/instance";
import { useInstance } from "../instance/useInstance";
import { showCard } from "../state/selection";
import "../styles/timeline.css";
import { Empty } from "../ui/Empty";
import { count, duration, money } from "../ui/format";
import { useNow } from "../ui/hooks/useNow";
import { TurnTraces, type TurnTrace } from "./turnTraces";
import { Waterfall } from "./Waterfall";

/** Turns are added in steps of this, the newest first. */
const SHOWN_TURNS = 50;

interface Props {
  instance: Instance | undefined;
  showMain: () => void;
}

export function TimelinePanel({ instance, showMain }: Props) {
  if (!instance) return <Empty title="No session is open">Open one to see what its time goes into.</Empty>;
  return <Turns instance={instance} showMain={showMain} />;
}

function Turns({ instance, showMain }: { instance: Instance; showMain: () => void }) {
  const { conversation } = useInstance(instance);
  const { items, turns: running, usage } = conversation;
  const now = useNow(running.length > 0);
  const [reader] = useState(() => new TurnTraces());
  const traces = useMemo(() => reader.read(items, running.length > 0, now), [reader, items, running, now]);
  const [limit, setLimit] = useState(SHOWN_TURNS);
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set());
  const [lastFailed, setLastFailed] = useState(-1);
  const failed = traces.flatMap((trace) => trace.failed);
  const newest = traces.at(-1)?.key;

  const show = (item: string) => {
    showMain();
    showCard(item);
  };
  const nextFailed = () => {
    const next = (lastFailed + 1) % failed.length;
    setLastFailed(next);
    show(failed[next]!.item);
  };
  const toggle = (key: string) =>
    setToggled((before) => {
      const next = new Set(before);
      if (!next.delete(key)) next.add(key);
      return next;
    });
  if (traces.length === 0)
    return <Empty title="No turn yet">Each prompt becomes a waterfall of what the agent does.</Empty>;
  return (
    <div className="panel">
      <div className="toolbar timeline-sum">
        <h2>Timeline</h2>
        <span className="muted grow">
          {[
            count(traces.length, "turn"),
            duration(traces.reduce((sum, one) => sum + lengthOf(one), 0)),
            ...waitingText(traces.reduce((sum, one) => sum + one.waitingMs, 0)),
            ...(usage.totalTokens === undefined ? [] : [`${usage.totalTokens.toLocaleString()} tokens`]),
            ...(usage.cost?.amount ? [money(usage.cost)] : []),
          ].join(" · ")}
        </span>
        {failed.length > 0 && (
          <button type="button" className="button small danger" onClick={nextFailed}>
            {count(failed.length, "failed call")}
          </button>
        )}
      </div>
      <div className="panel-scroll">
        {traces.length > limit && (
          <button type="button" className="link-button" onClick={() => setLimit(limit + SHOWN_TURNS)}>
            {count(traces.length - limit, "earlier turn")}
          </button>
        )}
        <ol className="turns">
          {traces.slice(-limit).map((trace) => {
            const open = (trace.key === newest) !== toggled.has(trace.key);
            return (
              <li key={trace.key} className="turn card">
                <button
                  type="button"
                  className="turn-head"
                  aria-expanded={open}
                  onClick={() => toggle(trace.key)}
                >
                  <strong className="ellipsis">{trace.title || "Prompt of another client"}</strong>
                  <span className="muted">{factsOf(trace).join(" · ")}</span>
                </button>
                {open && <Waterfall trace={trace} show={show} />}
              </li>
            );
          })}
        </ol>
      </div>
    </div>
  );
}

function lengthOf(trace: TurnTrace): number {
  return trace.end - trace.start;
}

function waitingText(ms: number): string[] {
  return ms > 0 ? [`${duration(ms)} waiting for you`] : [];
}

function factsOf(trace: TurnTrace): string[] {
  return [
    trace.stopReason === undefined ? "running" : duration(lengthOf(trace)),
    ...(trace.stopReason && trace.stopReason !== "end_turn" ? [trace.stopReason.replaceAll("_", " ")] : []),
    ...(trace.firstTokenMs === undefined ? [] : [`first token ${duration(trace.firstTokenMs)}`]),
    ...waitingText(trace.waitingMs),
    ...(trace.tokens === undefined ? [] : [`${trace.tokens.toLocaleString()} tokens`]),
    ...(trace.cost ? [money(trace.cost)] : []),
  ];
}
