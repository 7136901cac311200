/** The page over an output directory: a table of its runs, the replay of one, or two side by side. */

import { useCallback, useState } from "react";
import { useObservable } from "../state/observable";
import { Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { Icon } from "../ui/Icon";
import { Logo } from "../ui/Logo";
import { ThemeButton } from "../ui/ThemeButton";
import { usePolled } from "../ui/hooks/usePolled";
import { useTheme } from "../ui/hooks/useTheme";
import { showRuns, shownRuns } from "./address";
import type { RolloutsApi } from "./rolloutsApi";
import { RunsPage } from "./list/RunsPage";
import { RunView } from "./run/RunView";
import { ALL } from "./list/selectRuns";
import { Comparison } from "./run/Comparison";

/** A batch that runs adds rows all the time. */
const POLL_MS = 3000;

export function RolloutsApp({ api }: { api: RolloutsApi }) {
  const theme = useTheme();
  const output = usePolled(
    useCallback(() => api.output(), [api]),
    POLL_MS,
  );
  const shown = useObservable(shownRuns);
  const [selection, setSelection] = useState(ALL);
  return (
    <div className="rollouts">
      <header className="rollouts-head">
        <Logo />
        <h1>Rollouts</h1>
        <span className="muted mono ellipsis grow" title={output.value?.output}>
          {output.value?.output}
        </span>
        {shown.length > 0 && (
          <button type="button" className="button small" onClick={() => showRuns([])}>
            <Icon name="list" size={14} /> All runs
          </button>
        )}
        <ThemeButton theme={theme} />
      </header>
      {output.error !== undefined && <ErrorBox error={output.error} retry={output.reload} />}
      {!output.value && output.error === undefined && <Loading what="the runs" />}
      {output.value && shown.length === 0 && (
        <RunsPage runs={output.value.rows} selection={selection} select={setSelection} />
      )}
      {shown.length === 1 && <RunView key={shown[0]} api={api} id={shown[0]!} />}
      {shown.length === 2 && <Comparison key={shown.join("\n")} api={api} ids={[shown[0]!, shown[1]!]} />}
    </div>
  );
}
