/** The conversations of all candidates side by side, as they happen. */

import { ConversationList } from "../conversation/ConversationList";
import { LoginChoiceField } from "../newSession/LoginChoiceField";
import type { OpenSession } from "../session/openSession";
import { isOver, phaseOf } from "../session/sessionMachine";
import { useObservable } from "../state/observable";
import { ErrorBox } from "../ui/ErrorBox";
import { Loading } from "../ui/Empty";
import { ProgressBar } from "../ui/ProgressBar";
import { candidateName } from "./candidateName";
import type { CandidateState, Comparison } from "./comparison";

export function CompareColumns({ comparison }: { comparison: Comparison }) {
  const { candidates } = useObservable(comparison.state);
  return (
    <div className="compare-columns">
      {candidates.map((candidate, index) => (
        <section
          key={candidate.path}
          className="compare-column"
          aria-label={candidateName(candidates, index)}
          data-candidate={index + 1}
        >
          <Column candidate={candidate} name={candidateName(candidates, index)} />
        </section>
      ))}
    </div>
  );
}

function Column({ candidate, name }: { candidate: CandidateState; name: string }) {
  const { open, error, sessionId } = candidate;
  return (
    <>
      <header className="compare-column-head">
        <strong>{name}</strong>
        <span className="grow" />
        {open && <State open={open} />}
      </header>
      {open && <Conversation open={open} />}
      {!open && error !== undefined && <ErrorBox error={new Error(error)} />}
      {!open && error === undefined && sessionId === undefined && <Starting candidate={candidate} />}
      {!open && error === undefined && sessionId !== undefined && (
        <p className="muted compare-note">The session of this candidate was deleted from this browser.</p>
      )}
    </>
  );
}

function Starting({ candidate: { progress, login } }: { candidate: CandidateState }) {
  if (login) return <LoginChoiceField {...login} />;
  if (!progress) return <Loading what="the worktree" />;
  return (
    <div className="compare-note">
      <ProgressBar text={progress.text} percent={progress.percent} />
    </div>
  );
}

function State({ open }: { open: OpenSession }) {
  const phase = phaseOf(useObservable(open.state));
  return (
    <span className="pill" role="status">
      <span className={`dot state-${phase}`} aria-hidden="true" />{" "}
      {phase === "waiting" ? "waits for you" : phase}
    </span>
  );
}

function Conversation({ open }: { open: OpenSession }) {
  const state = useObservable(open.state);
  const answerable = !isOver(state) && state.action === "none";
  return <ConversationList instance={open.instance} open={open} answerable={answerable} />;
}
