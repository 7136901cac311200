/** One session of this browser. */

import { useCallback, useEffect } from "react";
import type { Instance } from "../live/instance";
import { useInstance } from "../live/useInstance";
import type { SessionRecord } from "../storage/records";
import { agentLabel } from "../ui/agentLabel";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { Icon } from "../ui/Icon";
import { useLoaded } from "../ui/useLoaded";
import { useTask, type Task } from "../ui/useTask";
import { ChatHeader } from "../conversation/ChatHeader";
import { Composer } from "../conversation/Composer";
import { ConversationList } from "../conversation/ConversationList";
import { ExitNotice } from "./ExitNotice";
import { focusDirectory, focusInstance } from "./focus";
import { liveServer, openSession, resumeSession } from "./lifecycle";
import { useObservable } from "./observable";
import { setPendingCards } from "./pendingCards";
import { go } from "./route";
import { useWorkbench } from "./workbench";

export function SessionView({ id }: { id: string }) {
  const workbench = useWorkbench();
  const sessions = useObservable(workbench.sessions.sessions);
  const session = sessions?.find((one) => one.id === id);
  const logs = session?.logs.join() ?? "";
  const opened = useLoaded(
    async () => (session ? openSession(workbench, session) : undefined),
    [id, session?.id, logs],
  );

  useEffect(() => focusInstance.set(opened.value), [opened.value]);
  useEffect(() => focusDirectory.set(session?.cwd ?? ""), [session?.cwd]);

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
  const workbench = useWorkbench();
  const { conversation, stream } = useInstance(instance);
  const server = liveServer(session, useObservable(workbench.servers.state).servers);
  const task = useTask();
  const running =
    server !== undefined && server.status !== "exited" && stream !== "gone" && !conversation.exited;
  const waiting = conversation.items.filter(
    (item) => item.kind === "request" && item.state === "pending",
  ).length;
  const title =
    conversation.title ??
    firstWords(conversation.items.find((item) => item.kind === "message" && item.role === "user"));

  useEffect(() => setPendingCards(session.id, running ? waiting : 0), [session.id, waiting, running]);
  useEffect(() => {
    if (title && title !== session.title) void workbench.sessions.change(session.id, { title });
  }, [title, session.title]);

  const sent = useCallback(
    () => void workbench.sessions.change(session.id, { lastActiveAt: Date.now(), forgotten: false }),
    [session.id],
  );
  const loading = useObservable(workbench.servers.state).loaded === false;
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
  const workbench = useWorkbench();
  if (session.imported)
    return <div className="ended-bar">Imported: this conversation can be read, not continued.</div>;
  return (
    <div className="ended-bar">
      <span className="grow">This session's server is not running.</span>
      <button
        type="button"
        className="button primary"
        disabled={task.running}
        onClick={() => void task.run(() => resumeSession(workbench, session))}
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
  const workbench = useWorkbench();
  const end = () =>
    task.run(async () => {
      await workbench.api.closeServer(session.serverId);
      await workbench.servers.refresh();
    });
  const archive = () => workbench.sessions.change(session.id, { archived: !session.archived });
  const remove = async () => {
    if (!window.confirm("Delete this session and its history from this browser?")) return;
    workbench.drop(`session:${session.id}`);
    await workbench.sessions.remove(session);
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

const TITLE_CHARS = 48;

function firstWords(item: { kind: string; text?: string } | undefined): string | undefined {
  const line = item?.text?.trim().split("\n")[0];
  return line && line.length > TITLE_CHARS ? `${line.slice(0, TITLE_CHARS)}…` : line;
}
