/** The inbox "Needs you": the requests of all sessions, answerable in place. */

import { RequestCard } from "../conversation/requests/RequestCard";
import type { WaitingRequest } from "../session/openSessions";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { go } from "../state/route";
import { agentLabel } from "../ui/agentLabel";
import { Empty } from "../ui/Empty";
import { untitled } from "../ui/untitled";
import { NotifySwitch } from "./NotifySwitch";

export function Inbox() {
  const app = useAppState();
  const waiting = useObservable(app.open.waiting);
  return (
    <section className="inbox" aria-label="Needs you">
      <div className="inbox-head">
        <h1>Needs you</h1>
        <NotifySwitch />
      </div>
      {waiting.length === 0 && (
        <Empty title="Nothing waits for you">
          Permissions and questions of all your sessions appear here, and can be answered here.
        </Empty>
      )}
      {waiting.map((one) => (
        <Entry key={`${one.open.id}:${one.item.key}`} waiting={one} />
      ))}
    </section>
  );
}

function Entry({ waiting: { open, item } }: { waiting: WaitingRequest }) {
  const { session, instance } = open;
  const title = session.title || untitled(session.agent, session.createdAt);
  return (
    <article className="inbox-entry" aria-label={`Request of ${title}`}>
      <button type="button" className="link-button" onClick={() => go({ page: "session", id: session.id })}>
        {title}
      </button>{" "}
      <span className="muted">
        {agentLabel(session.agent)} · {session.cwd}
      </span>
      <RequestCard item={item} instance={instance} answerable />
    </article>
  );
}
