/** One session of this browser. */

import { useCallback, useEffect } from "react";
import { ChatHeader } from "../../conversation/header/ChatHeader";
import { Composer } from "../../composer/Composer";
import { ConversationList } from "../../conversation/ConversationList";
import { useInstance } from "../../instance/useInstance";
import { useAppState } from "../../state/appState";
import { useObservable } from "../../state/observable";
import { selectedDirectory, selectedInstance } from "../../state/selection";
import type { SessionRecord } from "../../storage/sessionRecord";
import { agentLabel } from "../../ui/agentLabel";
import { Empty, Loading } from "../../ui/Empty";
import { ErrorBox } from "../../ui/ErrorBox";
import { Icon } from "../../ui/Icon";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { useTask, type Task } from "../../ui/hooks/useTask";
import { ConnectionLost } from "./ConnectionLost";
import { ExitNotice } from "./ExitNotice";
import { isServerOf, liveServer } from "../lifecycle";
import { LoginAdvice } from "./LoginAdvice";
import type { OpenSession } from "../openSession";
import { ServerView } from "./ServerView";
import { SessionActions } from "./SessionActions";
import { canResume, isConnectionLost, isOver } from "../sessionMachine";

export function SessionView({ id }: { id: string }) {
  const app = useAppState();
  const sessions = useObservable(app.sessions.sessions);
  const session = sessions?.find((one) => one.id === id);
  const known = session !== undefined;
  const opened = useLoaded(
    useCallback(async () => {
      const found = known ? app.sessions.find(id) : undefined;
      return found && app.open.get(found);
    }, [app, id, known]),
  );
  const open = opened.value;

  useEffect(() => {
    if (!open) return undefined;
    app.open.show(open);
    selectedInstance.set(open.instance);
    return () => {
      app.open.hide(open);
      selectedInstance.set(undefined);
    };
  }, [app, open]);
  useEffect(() => selectedDirectory.set(session?.cwd ?? ""), [session?.cwd]);

  if (sessions && !session) {
    return <OfAnotherBrowser id={id} />;
  }
  if (opened.error !== undefined) return <ErrorBox error={opened.error} retry={opened.reload} />;
  if (!session || !open) return <Loading what="the conversation" />;
  return <Opened session={session} open={open} />;
}

/** The link of a session in another browser: its instance, while the server has it. */
function OfAnotherBrowser({ id }: { id: string }) {
  const { servers, loaded } = useObservable(useAppState().servers.state);
  const server = servers.find((one) => isServerOf(id, one.serverId));
  if (server) return <ServerView key={server.serverId} serverId={server.serverId} />;
  if (!loaded) return <Loading what="the conversation" />;
  return (
    <Empty title="This session is not in this browser">
      The server has no log of it either: it was ended. Pick another one, or open one that runs on the server.
    </Empty>
  );
}

function Opened({ session, open }: { session: SessionRecord; open: OpenSession }) {
  const app = useAppState();
  const { instance } = open;
  const { conversation } = useInstance(instance);
  const state = useObservable(open.state);
  const { servers } = useObservable(app.servers.state);
  const server = liveServer(session, servers);
  const task = useTask();
  const title = conversation.title ?? conversation.firstPrompt;
  const { sessions } = app;

  useEffect(() => {
    if (title && title !== session.title && !session.renamed) void sessions.change(session.id, { title });
  }, [sessions, title, session.id, session.title, session.renamed]);

  const over = isOver(state);
  const { queue, draft } = open;
  const end = () => open.end();
  const target = { instance, queue, draft, directory: session.cwd, over, end };
  return (
    <section className="chat" aria-label={`Session with ${agentLabel(session.agent)}`}>
      <ChatHeader
        instance={instance}
        agent={session.agent}
        id={session.id}
        title={session.title}
        sessionId={session.agentSessionId}
        running={!over}
        ended={over && !session.imported}
        rename={(name) => void sessions.change(session.id, { title: name, renamed: true })}
        actions={<SessionActions session={session} open={open} task={task} />}
      />
      {isConnectionLost(state) && !session.imported && <ConnectionLost />}
      <ConversationList instance={instance} open={open} answerable={!over && state.action === "none"} />
      {!over && <LoginAdvice instance={instance} />}
      {over && server?.status === "exited" && <ExitNotice server={server} />}
      {task.error !== undefined && <ErrorBox error={task.error} />}
      {session.imported ? (
        <div className="ended-bar">Imported: this conversation can be read, not continued.</div>
      ) : (
        <>
          {(over || state.action === "resuming") && <EndedBar open={open} task={task} />}
          <Composer key={session.id} target={target} />
        </>
      )}
    </section>
  );
}

function EndedBar({ open, task }: { open: OpenSession; task: Task }) {
  const state = useObservable(open.state);
  const resuming = state.action === "resuming";
  return (
    <div className="ended-bar">
      <span className="grow">
        {resuming
          ? "A fresh process is being started."
          : "Resume starts a fresh process with this conversation."}
      </span>
      <button
        type="button"
        className="button primary"
        disabled={task.running || !canResume(state)}
        onClick={() => void task.run(() => open.resume())}
      >
        <Icon name="play" size={14} /> {resuming ? "Resuming…" : "Resume"}
      </button>
    </div>
  );
}
