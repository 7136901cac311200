/** What can be done with a session as a whole: fork, end, archive, delete. */

import { useInstance } from "../../instance/useInstance";
import { objectAt } from "../../json";
import { useAppState } from "../../state/appState";
import { useObservable } from "../../state/observable";
import { ShareButton } from "../../share/ShareButton";
import { go } from "../../state/route";
import type { SessionRecord } from "../../storage/sessionRecord";
import { ConfirmButton } from "../../ui/ConfirmButton";
import { Icon } from "../../ui/Icon";
import type { Task } from "../../ui/hooks/useTask";
import { forkSession } from "../lifecycle";
import type { OpenSession } from "../openSession";
import { isOver } from "../sessionMachine";
import { removeSkills } from "../skills";

interface Props {
  session: SessionRecord;
  open: OpenSession;
  task: Task;
}

export function SessionActions({ session, open, task }: Props) {
  const app = useAppState();
  const running = !isOver(useObservable(open.state));
  const { agentCapabilities, turns } = useInstance(open.instance).conversation;
  // The agent copies what it has stored, so a running turn would be cut in two.
  const forkable = objectAt(objectAt(agentCapabilities, "sessionCapabilities"), "fork") && turns.length === 0;
  const fork = async () => {
    const copy = await forkSession(app, session, open.instance);
    go({ page: "session", id: copy.id });
  };
  const archive = () => app.sessions.change(session.id, { archived: !session.archived });
  const remove = async () => {
    if (!window.confirm("Delete this session and its history from this browser?")) return;
    app.open.drop(session.id);
    await removeSkills(app.http, session);
    await app.sessions.remove(session);
    go({ page: "home" });
  };
  return (
    <>
      {running && forkable && (
        <button
          type="button"
          className="icon-button"
          aria-label="Fork"
          title="Fork: continue this conversation in a second session"
          disabled={task.running}
          onClick={() => void task.run(fork)}
        >
          <Icon name="fork" />
        </button>
      )}
      {running && <ShareButton serverId={session.serverId} />}
      {running && (
        <ConfirmButton
          label="End"
          question="End the process?"
          disabled={task.running}
          confirmed={() => void task.run(() => open.end())}
        />
      )}
      <button
        type="button"
        className="icon-button"
        aria-label={session.archived ? "Unarchive" : "Archive"}
        title={session.archived ? "Unarchive" : "Archive"}
        onClick={() => void archive()}
      >
        <Icon name="archive" />
      </button>
      {!running && (
        <button
          type="button"
          className="icon-button"
          aria-label="Delete from this browser"
          title="Delete from this browser"
          onClick={() => void remove()}
        >
          <Icon name="trash" />
        </button>
      )}
    </>
  );
}
