/** One turn: a bar for each span, in the order in which they began. */

import { useState } from "react";
import { EventLink } from "../conversation/rows/EventLink";
import { duration } from "../ui/format";
import type { Span, SpanKind, TurnTrace } from "./turnTraces";

const SHOWN_SPANS = 200;
/** A span without length is still seen. */
const LEAST_PERCENT = 0.6;

const KIND_LABELS: Record<SpanKind, string> = {
  start: "no reaction yet",
  thinking: "thinking",
  writing: "writing",
  tool: "tool",
  waiting: "waits for you",
};

export function Waterfall({ trace, show }: { trace: TurnTrace; show: (item: string) => void }) {
  const [limit, setLimit] = useState(SHOWN_SPANS);
  const total = Math.max(1, trace.end - trace.start);
  const kinds = [...new Set(trace.spans.map((span) => span.kind))];
  return (
    <div className="waterfall">
      <div className="span-row muted" aria-hidden="true">
        <span className="span-columns">
          <span className="waterfall-scale">
            <span>0</span>
            <span>{duration(total / 2)}</span>
            <span>{duration(total)}</span>
          </span>
        </span>
        <span className="icon-button tiny" />
      </div>
      <ul>
        {trace.spans.slice(0, limit).map((span) => (
          <SpanRow key={span.key} span={span} start={trace.start} total={total} show={show} />
        ))}
      </ul>
      {trace.spans.length > limit && (
        <button type="button" className="link-button" onClick={() => setLimit(limit + SHOWN_SPANS)}>
          {trace.spans.length - limit} more
        </button>
      )}
      <p className="legend muted">
        {kinds.map((kind) => (
          <span key={kind}>
            <i className="swatch" data-kind={kind} aria-hidden="true" /> {KIND_LABELS[kind]}
          </span>
        ))}
      </p>
    </div>
  );
}

interface RowProps {
  span: Span;
  start: number;
  total: number;
  show: (item: string) => void;
}

function SpanRow({ span, start, total, show }: RowProps) {
  const length = span.end - span.start;
  const left = Math.min(100 - LEAST_PERCENT, ((span.start - start) / total) * 100);
  const width = Math.min(100 - left, Math.max(LEAST_PERCENT, (length / total) * 100));
  return (
    <li className="span-row" data-kind={span.kind} data-depth={Math.min(span.depth, 4)}>
      <button
        type="button"
        className="span-button span-columns"
        title={`${span.label}: ${duration(length)} after ${duration(span.start - start)}`}
        onClick={() => show(span.item)}
      >
        <span className="span-label ellipsis">
          <span className="visually-hidden">
            {KIND_LABELS[span.kind]}
            {span.failed ? ", failed" : ""}:{" "}
          </span>
          {span.label}
        </span>
        <span className="span-track">
          <span
            className="span-bar"
            data-kind={span.kind}
            data-failed={span.failed}
            data-open={span.open}
            style={{ left: `${left}%`, width: `${width}%` }}
          />
        </span>
        <span className="span-time muted">{duration(length)}</span>
      </button>
      <EventLink n={span.n} />
    </li>
  );
}
