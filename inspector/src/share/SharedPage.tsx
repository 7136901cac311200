/** What a reader with the link of a share sees: the conversation of one instance, and nothing to act with. */

import { useCallback, useEffect, useState } from "react";
import type { AcpServers } from "../api/bodies";
import { EventStreams } from "../api/eventStreams";
import { Http } from "../api/http";
import { RequestLog } from "../api/requestLog";
import { ChatHeader } from "../conversation/header/ChatHeader";
import { ConversationList } from "../conversation/ConversationList";
import { Instance } from "../instance/instance";
import { useInstance } from "../instance/useInstance";
import { exitText } from "../session/view/exitText";
import { MemoryHistory } from "../storage/memoryHistory";
import { TabChannel } from "../storage/tabChannel";
import { Empty } from "../ui/Empty";
import { Logo } from "../ui/Logo";
import { ThemeButton } from "../ui/ThemeButton";
import { usePolled } from "../ui/hooks/usePolled";
import type { Theme } from "../ui/hooks/useTheme";
import "./share.css";
import type { SharedLink } from "./sharedLink";

const STATUS_INTERVAL_MS = 5000;

export function SharedPage({ link, theme }: { link: SharedLink; theme: Theme }) {
  const [http] = useState(() => {
    const endpoint = { url: link.url, token: link.ticket, headers: {} };
    return new Http(endpoint, new RequestLog());
  });
  const [instance, setInstance] = useState<Instance | undefined>();
  useEffect(() => {
    const streams = new EventStreams(http, false);
    const services = { http, streams, history: new MemoryHistory(), tabs: new TabChannel() };
    const made = new Instance(services, link.serverId, undefined, false);
    made.stream.listen();
    queueMicrotask(() => setInstance(made));
    return () => made.close();
  }, [http, link.serverId]);
  return (
    <div className="shared-page">
      <header className="topbar">
        <span className="brand">
          <Logo /> <span>Sandbox Agent</span>
        </span>
        <span className="pill">read-only</span>
        <span className="grow" />
        <ThemeButton theme={theme} />
      </header>
      <main className="main-pane" id="main">
        {instance && <Shared http={http} instance={instance} />}
      </main>
    </div>
  );
}

function Shared({ http, instance }: { http: Http; instance: Instance }) {
  const { serverId } = instance;
  const { stream, conversation } = useInstance(instance);
  const over = stream === "refused" || stream === "gone";
  const load = useCallback(async () => {
    if (over) return undefined;
    return (await http.json<AcpServers>("/v1/acp", { query: { serverId }, quiet: true })).servers[0];
  }, [http, serverId, over]);
  const { value: server } = usePolled(load, STATUS_INTERVAL_MS);
  if (over && conversation.items.length === 0) {
    return (
      <Empty title="This link does not open anything">
        It has expired, it was revoked, or the session was ended. Ask for a new one.
      </Empty>
    );
  }
  return (
    <section className="chat" aria-label="Shared session">
      <ChatHeader
        instance={instance}
        agent={server?.agent ?? conversation.agentInfo?.name ?? "agent"}
        id={serverId}
        title={conversation.title ?? conversation.firstPrompt ?? serverId}
        running={false}
        actions={null}
      />
      <ConversationList instance={instance} answerable={false} />
      {server?.status === "exited" && (
        <div className="ended-bar">The agent's process ended: {exitText(server)}</div>
      )}
      <div className="ended-bar" role="status">
        {over
          ? "The link has expired or was revoked; this is the last state."
          : "Read-only: you see what happens."}
      </div>
    </section>
  );
}
