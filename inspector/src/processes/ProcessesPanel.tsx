/** The processes that were started through the server: their state, output, and their end. */

import { lazy, Suspense, useState, type FormEvent } from "react";
import type { ProcessInfo } from "../api/bodies";
import { useObservable } from "../state/observable";
import { selectedDirectory } from "../state/selection";
import "../styles/workbench.css";
import { SystemUsage } from "../system/SystemUsage";
import { endText } from "../terminals/endText";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { ago } from "../ui/format";
import { Icon } from "../ui/Icon";
import { useTask } from "../ui/hooks/useTask";
import { ProcessesProblem } from "./ProcessesProblem";
import { useProcesses } from "./useProcesses";

const ProcessLog = lazy(async () => ({ default: (await import("./ProcessLog")).ProcessLog }));

/** The processes below the use of the machine. */
export function ProcessesPanel() {
  return (
    <div className="panel">
      <SystemUsage />
      <Processes />
    </div>
  );
}

function Processes() {
  const { api, processes } = useProcesses();
  const [shown, setShown] = useState<ProcessInfo | undefined>();
  const [line, setLine] = useState("");
  const directory = useObservable(selectedDirectory);
  const task = useTask();
  const act = (action: () => Promise<unknown>) =>
    void task.run(async () => {
      await action();
      processes.reload();
    });
  const run = (event: FormEvent) => {
    event.preventDefault();
    const cwd = directory ? { cwd: directory } : {};
    act(async () => {
      setShown(await api.start({ command: "sh", args: ["-c", line], ...cwd }));
      setLine("");
    });
  };

  if (shown) {
    return (
      <Suspense fallback={<Loading what="the output" />}>
        <ProcessLog process={shown} close={() => setShown(undefined)} />
      </Suspense>
    );
  }
  if (processes.error !== undefined && !processes.value) {
    return <ProcessesProblem error={processes.error} retry={processes.reload} />;
  }
  if (!processes.value) return <Loading what="the processes" />;
  return (
    <div className="panel">
      <form className="toolbar" onSubmit={run}>
        <input
          className="grow mono"
          aria-label="Command"
          placeholder="Command, run by sh"
          value={line}
          onChange={(event) => setLine(event.target.value)}
        />
        <button type="submit" className="button small" disabled={task.running || line.trim() === ""}>
          <Icon name="play" size={14} /> Run
        </button>
      </form>
      {task.error !== undefined && <ErrorBox error={task.error} />}
      {processes.value.length === 0 && (
        <Empty title="No process was started">
          Terminals and commands that any client starts are listed here.
        </Empty>
      )}
      <ul className="panel-scroll" aria-label="Processes">
        {[...processes.value].reverse().map((process) => (
          <ProcessRow
            key={process.id}
            process={process}
            busy={task.running}
            show={() => setShown(process)}
            stop={() => act(() => api.stop(process.id))}
            kill={() => act(() => api.kill(process.id))}
            remove={() => act(() => api.remove(process.id))}
          />
        ))}
      </ul>
    </div>
  );
}

interface RowProps {
  process: ProcessInfo;
  busy: boolean;
  show: () => void;
  stop: () => void;
  kill: () => void;
  remove: () => void;
}

function ProcessRow({ process, busy, show, stop, kill, remove }: RowProps) {
  const running = process.status === "running";
  const facts = [
    process.id,
    process.tty ? "terminal" : "",
    process.cwd ?? "",
    running ? `pid ${process.pid}` : endText(process),
    `started ${ago(process.createdAtMs)}`,
  ];
  return (
    <li className="card" data-process={process.id} data-status={process.status}>
      <code className="process-line">{[process.command, ...process.args].join(" ")}</code>
      <div className="card-head">
        <span className="muted grow">{facts.filter(Boolean).join(" · ")}</span>
        <button type="button" className="button small" onClick={show}>
          Output
        </button>
        {running ? (
          <>
            <button type="button" className="button small" disabled={busy} onClick={stop}>
              Stop
            </button>
            <button type="button" className="button small danger" disabled={busy} onClick={kill}>
              Kill
            </button>
          </>
        ) : (
          <button type="button" className="button small" disabled={busy} onClick={remove}>
            Remove
          </button>
        )}
      </div>
    </li>
  );
}
