/** An instance of the server: watch it, take part in it, close it. */

import { useEffect, useState } from "react";
import type { AcpServer } from "../../api/bodies";
import { ChatHeader } from "../../conversation/header/ChatHeader";
import { WatchComposer } from "../../composer/WatchComposer";
import { ConversationList } from "../../conversation/ConversationList";
import type { Instance } from "../../instance/instance";
import { useInstance } from "../../instance/useInstance";
import { ShareButton } from "../../share/ShareButton";
import { useAppState } from "../../state/appState";
import { useObservable } from "../../state/observable";
import { selectedDirectory, selectedInstance } from "../../state/selection";
import { agentLabel } from "../../ui/agentLabel";
import { ConfirmButton } from "../../ui/ConfirmButton";
import { Empty, Loading } from "../../ui/Empty";
import { ErrorBox } from "../../ui/ErrorBox";
import { ago } from "../../ui/format";
import { useTask } from "../../ui/hooks/useTask";
import { ConnectionLost } from "./ConnectionLost";
import { ExitNotice } from "./ExitNotice";
import { watchInstance } from "../watch";

export function ServerView({ serverId }: { serverId: string }) {
  const app = useAppState();
  const [round, setRound] = useState(0);
  const [opened, setOpened] = useState<{ instance?: Instance; error?: unknown }>({});
  useEffect(() => {
    let left = false;
    let watched: Instance | undefined;
    watchInstance(app, serverId).then(
      (instance) => {
        watched = instance;
        if (left) instance.close();
        else setOpened({ instance });
      },
      (error: unknown) => left || setOpened({ error }),
    );
    return () => {
      left = true;
      watched?.close();
    };
  }, [app, serverId, round]);
  useEffect(() => {
    selectedInstance.set(opened.instance);
    selectedDirectory.set("");
    return () => selectedInstance.set(undefined);
  }, [opened.instance]);
  if (opened.error !== undefined) return <ErrorBox error={opened.error} retry={() => setRound(round + 1)} />;
  if (!opened.instance) return <Loading what="the server" />;
  return <Attached serverId={serverId} instance={opened.instance} />;
}

function Attached({ serverId, instance }: { serverId: string; instance: Instance }) {
  const app = useAppState();
  const { servers, loaded, problem } = useObservable(app.servers.state);
  const server = servers.find((one) => one.serverId === serverId);
  const { conversation, stream } = useInstance(instance);
  const [takingPart, setTakingPart] = useState(false);
  const [chosen, setChosen] = useState("");
  const task = useTask();
  const sessionId = chosen || conversation.sessionIds.at(-1) || "";
  const running = server !== undefined && server.status !== "exited";

  const close = () =>
    void task.run(async () => {
      await app.api.closeServer(serverId);
      await app.servers.refresh();
    });

  if (loaded && !server && stream === "gone" && conversation.items.length === 0) {
    return (
      <Empty title="This server is not running">
        It was closed, or it never ran here. The side bar lists what runs now.
      </Empty>
    );
  }
  return (
    <section className="chat" aria-label={`Server ${serverId}`}>
      <ChatHeader
        instance={instance}
        agent={server?.agent ?? "agent"}
        id={serverId}
        title={conversation.title ?? conversation.firstPrompt ?? serverId}
        ended={server?.status === "exited"}
        sessionId={sessionId}
        running={running && takingPart}
        actions={
          <>
            <label className="switch">
              <input
                type="checkbox"
                checked={takingPart}
                onChange={(event) => setTakingPart(event.target.checked)}
              />{" "}
              Take part
            </label>
            {server && <ShareButton serverId={serverId} />}
            {server && (
              <ConfirmButton
                label="Close server"
                question="Close it for every client?"
                disabled={task.running}
                confirmed={close}
              />
            )}
          </>
        }
      />
      {server && <ServerFacts server={server} />}
      {(problem || stream === "reconnecting") && <ConnectionLost />}
      {task.error !== undefined && <ErrorBox error={task.error} />}
      <ConversationList instance={instance} answerable={running && takingPart} />
      {server?.status === "exited" && <ExitNotice server={server} />}
      {!server && loaded && <div className="ended-bar">This server was closed.</div>}
      {running && takingPart && sessionId && (
        <>
          {conversation.sessionIds.length > 1 && (
            <label className="session-choice">
              Session{" "}
              <select value={sessionId} onChange={(event) => setChosen(event.target.value)}>
                {conversation.sessionIds.map((one) => (
                  <option key={one} value={one}>
                    {one}
                  </option>
                ))}
              </select>
            </label>
          )}
          <WatchComposer instance={instance} sessionId={sessionId} />
        </>
      )}
      {running && takingPart && !sessionId && (
        <div className="ended-bar">
          No session has been opened on this server yet, so there is nothing to prompt.
        </div>
      )}
      {running && !takingPart && (
        <div className="ended-bar">Watching. Switch on “Take part” to answer and to send prompts.</div>
      )}
    </section>
  );
}

function ServerFacts({ server }: { server: AcpServer }) {
  const facts: [string, string][] = [
    ["agent", agentLabel(server.agent)],
    ["status", server.status],
    ["pid", server.pid === null ? "none" : String(server.pid)],
    ["started", ago(server.createdAtMs)],
    ["last activity", ago(server.lastActivityMs)],
    ["last event", String(server.lastEventId)],
    ["pending requests", String(server.pendingRequests)],
    ["readers", String(server.subscribers)],
  ];
  return (
    <dl className="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
