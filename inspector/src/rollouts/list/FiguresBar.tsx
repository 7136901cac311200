/** Pass rate, cost, time and failures of the runs that are shown, and how long they took. */

import { useMemo } from "react";
import { duration } from "../../ui/format";
import { figures, histogram, type Bin } from "./figures";
import { money } from "../money";
import type { Run } from "../run";

interface Props {
  runs: readonly Run[];
  filterBy: (kind: string) => void;
}

export function FiguresBar({ runs, filterBy }: Props) {
  const found = useMemo(() => figures(runs), [runs]);
  const bins = useMemo(() => histogram(runs), [runs]);
  return (
    <section className="figures" aria-label="Figures">
      <Figure name="Pass rate" value={`${(found.passRate * 100).toFixed(1)} %`}>
        {found.passed.toLocaleString()} of {found.runs.toLocaleString()}
      </Figure>
      <Figure name="Cost" value={money(found.cost)}>
        {found.tokens.toLocaleString()} tokens
      </Figure>
      <Figure name="Time" value={duration(found.medianSeconds * 1000)}>
        median; 95 % within {duration(found.p95Seconds * 1000)}
      </Figure>
      <Figure name="Failed" value={found.failed.toLocaleString()}>
        {found.failures.map(([kind, times]) => (
          <button key={kind} type="button" className="link-button" onClick={() => filterBy(kind)}>
            {kind} {times}
          </button>
        ))}
      </Figure>
      <Histogram bins={bins} />
    </section>
  );
}

interface FigureProps {
  name: string;
  value: string;
  children: React.ReactNode;
}

function Figure({ name, value, children }: FigureProps) {
  return (
    <div className="figure">
      <h2>{name}</h2>
      <strong>{value}</strong>
      <div className="muted small-text">{children}</div>
    </div>
  );
}

const [WIDTH, HEIGHT] = [240, 56];

function Histogram({ bins }: { bins: readonly Bin[] }) {
  if (bins.length === 0) return null;
  const most = bins.reduce((high, bin) => Math.max(high, bin.passed + bin.others), 1);
  const step = WIDTH / bins.length;
  const height = (runs: number) => (runs / most) * HEIGHT;
  const [low, high] = [bins[0]!.from, bins.at(-1)!.to];
  return (
    <figure className="histogram">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label="How many runs took how long">
        {bins.map((bin, at) => (
          <g key={at}>
            <title>{`${bin.from.toFixed(1)} to ${bin.to.toFixed(1)} s: ${bin.passed} passed, ${bin.others} others`}</title>
            <rect
              className="bar-passed"
              x={at * step}
              width={step - 1}
              y={HEIGHT - height(bin.passed)}
              height={height(bin.passed)}
            />
            <rect
              className="bar-others"
              x={at * step}
              width={step - 1}
              y={HEIGHT - height(bin.passed + bin.others)}
              height={height(bin.others)}
            />
          </g>
        ))}
      </svg>
      <figcaption className="muted small-text">
        <span>{duration(low * 1000)}</span>
        <span>{duration(high * 1000)}</span>
      </figcaption>
    </figure>
  );
}
