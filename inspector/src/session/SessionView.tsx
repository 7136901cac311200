/** One session of this browser. */

import { useCallback, useEffect } from "react";
import { ChatHeader } from "../conversation/ChatHeader";
import { Composer } from "../conversation/Composer";
import { ConversationList } from "../conversation/ConversationList";
import type { Instance } from "../instance/instance";
import { useInstance } from "../instance/useInstance";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { setPendingCount } from "../state/pendingRequests";
import { go } from "../state/route";
import { selectedDirectory, selectedInstance } from "../state/selection";
import type { SessionRecord } from "../storage/sessionRecord";
import { agentLabel } from "../ui/agentLabel";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { Icon } from "../ui/Icon";
import { useLoaded } from "../ui/useLoaded";
import { useTask, type Task } from "../ui/useTask";
import { ExitNotice } from "./ExitNotice";
import { liveServer, openSession, resumeSession } from "./lifecycle";

export function SessionView({ id }: { id: string }) {
  const app = useAppState();
  const sessions = useObservable(app.sessions.sessions);
  const session = sessions?.find((one) => one.id === id);
  // A resumed session has another log, and with it another instance.
  const logs = session?.logs.join();
  const opened = useLoaded(
    useCallback(async () => {
      const found = logs === undefined ? undefined : app.sessions.find(id);
      return found && openSession(app, found);
    }, [app, id, logs]),
  );

  useEffect(() => selectedInstance.set(opened.value), [opened.value]);
  useEffect(() => selectedDirectory.set(session?.cwd ?? ""), [session?.cwd]);

  if (sessions && !session) {
    return (
      <Empty title="This session is not in this browser">
        Sessions live in the browser that created them. Pick another one, or attach to a live server.
      </Empty>
    );
  }
  if (opened.error !== undefined) return <ErrorBox error={opened.error} retry={opened.reload} />;
  if (!session || !opened.value) return <Loading what="the conversation" />;
  return <OpenSession session={session} instance={opened.value} />;
}

function OpenSession({ session, instance }: { session: SessionRecord; instance: Instance }) {
  const app = useAppState();
  const { conversation, stream } = useInstance(instance);
  const servers = useObservable(app.servers.state);
  const server = liveServer(session, servers.servers);
  const task = useTask();
  const running =
    server !== undefined && server.status !== "exited" && stream !== "gone" && !conversation.exited;
  const pending = running ? conversation.pendingRequests.length : 0;
  const title = conversation.title ?? conversation.firstPrompt;
  const { sessions } = app;

  useEffect(() => setPendingCount(session.id, pending), [session.id, pending]);
  useEffect(() => {
    if (title && title !== session.title) void sessions.change(session.id, { title });
  }, [sessions, title, session.id, session.title]);

  const sent = () => void sessions.change(session.id, { lastActiveAt: Date.now(), forgotten: false });
  const loading = !servers.loaded;
  return (
    <section className="chat" aria-label={`Session with ${agentLabel(session.agent)}`}>
      <ChatHeader
        instance={instance}
        agent={session.agent}
        id={session.id}
        title={session.title}
        sessionId={session.agentSessionId}
        running={running}
        actions={<SessionActions session={session} running={running} task={task} />}
      />
      <ConversationList instance={instance} answerable={running} />
      {server?.status === "exited" && <ExitNotice server={server} />}
      {task.error !== undefined && <ErrorBox error={task.error} />}
      {running || loading ? (
        <Composer
          instance={instance}
          sessionId={session.agentSessionId ?? ""}
          directory={session.cwd}
          replay={session.forgotten}
          sent={sent}
        />
      ) : (
        <EndedBar session={session} task={task} />
      )}
    </section>
  );
}

function EndedBar({ session, task }: { session: SessionRecord; task: Task }) {
  const app = useAppState();
  if (session.imported)
    return <div className="ended-bar">Imported: this conversation can be read, not continued.</div>;
  return (
    <div className="ended-bar">
      <span className="grow">This session's server is not running.</span>
      <button
        type="button"
        className="button primary"
        disabled={task.running}
        onClick={() => void task.run(() => resumeSession(app, session))}
      >
        <Icon name="play" size={14} /> {task.running ? "Resuming…" : "Resume"}
      </button>
    </div>
  );
}

function SessionActions({
  session,
  running,
  task,
}: {
  session: SessionRecord;
  running: boolean;
  task: Task;
}) {
  const app = useAppState();
  const end = () =>
    task.run(async () => {
      await app.api.closeServer(session.serverId);
      await app.servers.refresh();
    });
  const archive = () => app.sessions.change(session.id, { archived: !session.archived });
  const remove = async () => {
    if (!window.confirm("Delete this session and its history from this browser?")) return;
    app.drop(`session:${session.id}`);
    await app.sessions.remove(session);
    go({ page: "home" });
  };
  return (
    <>
      {running && (
        <button type="button" className="button small" disabled={task.running} onClick={() => void end()}>
          End
        </button>
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
