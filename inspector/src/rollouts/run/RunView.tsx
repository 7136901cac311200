/** One run: how it ended, its commands, what was said, and what it has kept. */

import { useCallback } from "react";
import { duration } from "../../ui/format";
import { Empty, Loading } from "../../ui/Empty";
import { ErrorBox } from "../../ui/ErrorBox";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { KeptFiles } from "./KeptFiles";
import { money } from "../money";
import { OutcomePill } from "../list/OutcomePill";
import { Recording } from "../../replay/recording";
import { Replay } from "../../replay/Replay";
import type { RolloutsApi } from "../rolloutsApi";
import type { RunDetails } from "../run";

export function RunView({ api, id }: { api: RolloutsApi; id: string }) {
  const load = useCallback(async () => {
    const run = await api.run(id);
    return { run, recording: new Recording(await api.messages(run)) };
  }, [api, id]);
  const { value, error, reload } = useLoaded(load);
  if (error !== undefined) return <ErrorBox error={error} retry={reload} />;
  if (!value) return <Loading what="the run" />;
  const { run, recording } = value;
  return (
    <article className="run" aria-label={`Run ${run.id}`}>
      <div className="run-head">
        <h2 className="mono ellipsis" title={run.id}>
          {run.id}
        </h2>
        <OutcomePill run={run} />
      </div>
      <RunFacts run={run} />
      {run.error && <pre className="run-error">{run.error}</pre>}
      <Commands run={run} />
      <KeptFiles api={api} run={run} />
      {recording.length > 0 ? (
        <Replay recording={recording} />
      ) : (
        <Empty title="Nothing was recorded">
          The rollout kept neither events nor a transcript, or ended before the first prompt.
        </Empty>
      )}
    </article>
  );
}

function RunFacts({ run }: { run: RunDetails }) {
  const facts: [string, string | null][] = [
    ["agent", run.agent],
    ["score", run.score === null ? null : String(run.score)],
    ["time", duration(run.seconds * 1000)],
    ["cost", run.cost_usd === null ? null : money(run.cost_usd)],
    ["tokens", run.total_tokens?.toLocaleString() ?? null],
    ["stop reason", run.stop_reason],
    ["attempt", String(run.attempt)],
    ["node", run.node],
    ["started", run.started_at.replace("T", " ").slice(0, 19)],
  ];
  return (
    <dl className="facts run-facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value || "–"}</dd>
        </div>
      ))}
    </dl>
  );
}

function Commands({ run }: { run: RunDetails }) {
  const commands = Object.entries(run.exit_codes);
  if (commands.length === 0) return null;
  return (
    <details className="run-part">
      <summary>
        Commands <span className="muted">{commands.length}</span>
        {commands.some(([, code]) => code !== 0) && <span className="pill warn">not all exit with 0</span>}
      </summary>
      {commands.map(([command, code]) => (
        <div key={command} className="run-command">
          <code>{command}</code> <span className={code === 0 ? "muted" : "bad-text"}>exit {code}</span>
          {run.outputs[command] && <pre tabIndex={0}>{run.outputs[command]}</pre>}
        </div>
      ))}
    </details>
  );
}
