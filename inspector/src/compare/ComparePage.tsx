/** Compare agents: the form that starts a comparison, or one that was started. */

import "../styles/workbench.css";
import "./compare.css";
import { useEffect } from "react";
import { Empty, Loading } from "../ui/Empty";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { CompareColumns } from "./CompareColumns";
import { CompareForm } from "./CompareForm";
import { CompareTable } from "./CompareTable";
import type { Comparison } from "./comparison";
import { DiffAgainstDiff } from "./DiffAgainstDiff";
import { openComparison } from "./openComparisons";

export function ComparePage({ id }: { id?: string }) {
  const app = useAppState();
  // The sessions of a comparison are found in the history of this browser.
  const sessions = useObservable(app.sessions.sessions);
  if (id === undefined) return <CompareForm />;
  if (!sessions) return <Loading what="the comparison" />;
  const comparison = openComparison(app, id);
  if (!comparison) {
    return (
      <Empty title="This comparison is not in this browser">
        Its sessions may still run: the side bar lists what runs on the server.
      </Empty>
    );
  }
  return <Shown key={id} comparison={comparison} />;
}

function Shown({ comparison }: { comparison: Comparison }) {
  const { record } = useObservable(comparison.state);
  useEffect(() => {
    comparison.show();
    return () => comparison.hide();
  }, [comparison]);
  return (
    <section className="compare" aria-label="Comparison">
      <header className="compare-head">
        <h1>{record.prompt}</h1>
        <p className="muted">
          <code>{record.top}</code> from <code>{record.base.slice(0, 8)}</code>
          {record.testCommand && (
            <>
              , tested with <code>{record.testCommand}</code>
            </>
          )}
        </p>
      </header>
      <CompareColumns comparison={comparison} />
      <CompareTable comparison={comparison} />
      <DiffAgainstDiff comparison={comparison} />
    </section>
  );
}
