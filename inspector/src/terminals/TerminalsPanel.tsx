/** Terminals in the sandbox, side by side as tabs. A reload finds those that run. */

import { useState } from "react";
import type { ProcessInfo } from "../api/bodies";
import type { ProcessApi } from "../api/processes";
import { ProcessesProblem } from "../processes/ProcessesProblem";
import { useProcesses } from "../processes/useProcesses";
import { useObservable } from "../state/observable";
import { selectedDirectory } from "../state/selection";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { Icon } from "../ui/Icon";
import { useStored } from "../ui/hooks/useStored";
import { useTask } from "../ui/hooks/useTask";
import "../styles/workbench.css";
import { closeTerminal, openTerminal } from "./openTerminals";
import { ScreenHost } from "./ScreenHost";
import { ScreenTools } from "./ScreenTools";

/** The user's own shell where there is one, else sh. */
const SHELL = { command: "sh", args: ["-c", 'exec "$(command -v bash || echo sh)" -i'] };

export function TerminalsPanel() {
  const { api, processes } = useProcesses();
  const [started, setStarted] = useState<ProcessInfo[]>([]);
  const [chosen, setChosen] = useStored("terminal", "");
  const directory = useObservable(selectedDirectory);
  const task = useTask();

  const listed = (processes.value ?? []).filter((one) => one.tty);
  // A terminal that was just started is shown before the next list arrives.
  const known = new Set(listed.map((one) => one.id));
  const terminals = [...listed, ...started.filter((one) => !known.has(one.id))];
  const shown = terminals.find((one) => one.id === chosen) ?? terminals.at(-1);

  const start = () =>
    void task.run(async () => {
      const process = await api.start({ ...SHELL, tty: true, ...(directory ? { cwd: directory } : {}) });
      setStarted((before) => [...before, process]);
      setChosen(process.id);
      processes.reload();
    });
  const close = (process: ProcessInfo) => {
    if (process.status === "running" && !window.confirm(`End terminal ${process.id} and all it runs?`))
      return;
    void task.run(async () => {
      await api.kill(process.id);
      await api.remove(process.id);
      closeTerminal(api, process);
      setStarted((before) => before.filter((one) => one.id !== process.id));
      processes.reload();
    });
  };

  if (processes.error !== undefined && !processes.value) {
    return <ProcessesProblem error={processes.error} retry={processes.reload} />;
  }
  if (!processes.value) return <Loading what="the terminals" />;
  return (
    <div className="panel">
      <div className="toolbar">
        <div className="segmented" role="group" aria-label="Terminals">
          {terminals.map((one) => (
            <button
              key={one.id}
              type="button"
              aria-pressed={one.id === shown?.id}
              onClick={() => setChosen(one.id)}
            >
              {one.id.replace("proc_", "#")}
              {one.status === "exited" && " (ended)"}
            </button>
          ))}
        </div>
        <button type="button" className="button small" disabled={task.running} onClick={start}>
          <Icon name="plus" size={14} /> New terminal
        </button>
      </div>
      {task.error !== undefined && <ErrorBox error={task.error} />}
      {shown ? (
        <ShownTerminal key={`${shown.id} ${shown.createdAtMs}`} api={api} process={shown} close={close} />
      ) : (
        <Empty title="No terminal runs">
          A terminal is a shell in the sandbox. It keeps running when this page is closed or reloaded.
        </Empty>
      )}
    </div>
  );
}

interface ShownProps {
  api: ProcessApi;
  process: ProcessInfo;
  close: (process: ProcessInfo) => void;
}

function ShownTerminal({ api, process, close }: ShownProps) {
  const [terminal] = useState(() => openTerminal(api, process));
  const state = useObservable(terminal.state);
  const problem = useObservable(terminal.problem);
  return (
    <>
      <div className="toolbar">
        <span className="muted" role="status">
          {state === "reconnecting" ? "Connection lost, retrying" : state}
        </span>
        <ScreenTools screen={terminal.screen} />
        <button type="button" className="button small" onClick={() => close(process)}>
          {process.status === "running" ? "End" : "Remove"}
        </button>
      </div>
      {problem && <div className="ended-bar">{problem}</div>}
      <ScreenHost screen={terminal.screen} focus />
    </>
  );
}
