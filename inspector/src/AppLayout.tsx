/** The connected page: side bar, conversation, panels. Narrow screens show one of the three at a time. */

import { useState } from "react";
import { Dock } from "./Dock";
import { NewSessionDialog } from "./session/NewSessionDialog";
import { ServerView } from "./session/ServerView";
import { SessionView } from "./session/SessionView";
import { Sidebar } from "./session/Sidebar";
import { Welcome } from "./session/Welcome";
import { useAppState } from "./state/appState";
import { useObservable } from "./state/observable";
import { currentRoute, go } from "./state/route";
import { selectedInstance } from "./state/selection";
import { Icon, type IconName } from "./ui/Icon";
import { Logo } from "./ui/Logo";
import { ThemeButton } from "./ui/ThemeButton";
import type { Theme } from "./ui/useTheme";

type Pane = "side" | "main" | "dock";

const PANES: { pane: Pane; label: string; icon: IconName }[] = [
  { pane: "side", label: "Sessions", icon: "menu" },
  { pane: "main", label: "Conversation", icon: "chat" },
  { pane: "dock", label: "Panels", icon: "panel" },
];

export function AppLayout({ disconnect, theme }: { disconnect: () => void; theme: Theme }) {
  const app = useAppState();
  const route = useObservable(currentRoute);
  const focused = useObservable(selectedInstance);
  const [creating, setCreating] = useState<{ agent?: string } | undefined>();
  const [pane, setPane] = useState<Pane>("main");
  const create = (agent?: string) => setCreating({ agent });

  return (
    <div className="layout" data-pane={pane}>
      <header className="topbar">
        <a
          href="/ui/"
          className="brand"
          onClick={(event) => {
            event.preventDefault();
            go({ page: "home" });
          }}
        >
          <Logo /> <span>Sandbox Agent</span>
        </a>
        <span className="endpoint" title="Connected endpoint">
          {app.http.origin.replace(/^https?:\/\//, "")}
        </span>
        <span className="grow" />
        <a href={`${app.http.origin}/docs`} target="_blank" rel="noopener noreferrer" className="topbar-link">
          API
        </a>
        <ThemeButton theme={theme} />
        <button type="button" className="button small" onClick={disconnect}>
          Disconnect
        </button>
      </header>
      <Sidebar create={() => create()} chosen={() => setPane("main")} />
      <main className="main-pane">
        {route.page === "session" && <SessionView key={route.id} id={route.id} />}
        {route.page === "server" && <ServerView key={route.id} serverId={route.id} />}
        {route.page === "home" && <Welcome create={create} />}
      </main>
      <Dock instance={route.page === "home" ? undefined : focused} showMain={() => setPane("main")} />
      <nav className="pane-switch" aria-label="Parts of the page">
        {PANES.map(({ pane: name, label, icon }) => (
          <button key={name} type="button" aria-pressed={pane === name} onClick={() => setPane(name)}>
            <Icon name={icon} /> {label}
          </button>
        ))}
      </nav>
      {creating && (
        <NewSessionDialog
          agent={creating.agent}
          close={() => setCreating(undefined)}
          created={(session) => {
            setCreating(undefined);
            setPane("main");
            go({ page: "session", id: session.id });
          }}
        />
      )}
    </div>
  );
}
