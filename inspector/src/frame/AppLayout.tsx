/** The connected page: side bar, conversation, panels. Narrow screens show one of the three at a time. */

import { lazy, useState } from "react";
import { NewSessionDialog } from "../newSession/NewSessionDialog";
import { Sidebar } from "../sidebar/Sidebar";
import { useAttention } from "../sidebar/useAttention";
import { Welcome } from "../newSession/Welcome";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { currentRoute, go } from "../state/route";
import { selectedInstance } from "../state/selection";
import { Loading } from "../ui/Empty";
import { Part } from "../ui/Part";
import { Icon, type IconName } from "../ui/Icon";
import { Logo } from "../ui/Logo";
import { ThemeButton } from "../ui/ThemeButton";
import type { Theme } from "../ui/hooks/useTheme";

import { PaletteKeys } from "../palette/PaletteKeys";
import { Dock } from "./Dock";
import { foldPane, paneSizes, type PaneName } from "../state/paneSizes";
import { Splitter } from "./Splitter";

declare module "react" {
  interface CSSProperties {
    "--side-width"?: string;
    "--dock-width"?: string;
  }
}

// 12 KB in gzip that the start page does not wait for.
const SessionView = lazy(async () => ({
  default: (await import("../session/view/SessionView")).SessionView,
}));
const ServerView = lazy(async () => ({ default: (await import("../session/view/ServerView")).ServerView }));
const Inbox = lazy(async () => ({ default: (await import("../sidebar/Inbox")).Inbox }));
const ComparePage = lazy(async () => ({ default: (await import("../compare/ComparePage")).ComparePage }));

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
  const sizes = useObservable(paneSizes);
  const waiting = useObservable(app.open.waiting);
  const sessions = useObservable(app.sessions.sessions);
  const title = route.page === "session" ? sessions?.find((one) => one.id === route.id)?.title : "";
  useAttention(waiting, title ?? "");
  const create = (agent?: string) => setCreating({ agent });

  return (
    <div
      className="layout"
      data-pane={pane}
      style={{
        "--side-width": sizes.side.folded ? "0px" : `${sizes.side.width}px`,
        "--dock-width": sizes.dock.folded ? "0px" : `${sizes.dock.width}px`,
      }}
    >
      <a className="skip-link" href="#main">
        Skip to the conversation
      </a>
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
        <FoldButton pane="side" label="Side bar" icon="menu" />
        <FoldButton pane="dock" label="Panels beside" icon="panel" />
        <ThemeButton theme={theme} />
        <button type="button" className="button small" onClick={disconnect}>
          Disconnect
        </button>
      </header>
      {(!sizes.side.folded || pane === "side") && (
        <Sidebar create={() => create()} chosen={() => setPane("main")} />
      )}
      <Splitter pane="side" label="Width of the side bar" />
      <main className="main-pane" id="main" tabIndex={-1}>
        <Part key={route.page} fallback={<Loading what="the page" />}>
          {route.page === "session" && <SessionView key={route.id} id={route.id} />}
          {route.page === "server" && <ServerView key={route.id} serverId={route.id} />}
          {route.page === "inbox" && <Inbox />}
          {route.page === "compare" && <ComparePage id={route.id} />}
          {route.page === "home" && <Welcome create={create} />}
        </Part>
      </main>
      <Splitter pane="dock" label="Width of the panels" />
      {(!sizes.dock.folded || pane === "dock") && (
        <Dock instance={focused} showMain={() => setPane("main")} />
      )}
      <nav className="pane-switch" aria-label="Parts of the page">
        {PANES.map(({ pane: name, label, icon }) => (
          <button key={name} type="button" aria-pressed={pane === name} onClick={() => setPane(name)}>
            <Icon name={icon} /> {label}
          </button>
        ))}
      </nav>
      <PaletteKeys
        actions={{
          create: () => create(),
          nextTheme: theme.next,
          foldSide: () => foldPane("side", !sizes.side.folded),
          foldDock: () => foldPane("dock", !sizes.dock.folded),
          showPane: setPane,
        }}
      />
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

function FoldButton({ pane, label, icon }: { pane: PaneName; label: string; icon: IconName }) {
  const { folded } = useObservable(paneSizes)[pane];
  return (
    <button
      type="button"
      className="icon-button fold-button"
      aria-pressed={!folded}
      aria-label={label}
      title={folded ? `Show: ${label}` : `Fold: ${label}`}
      onClick={() => foldPane(pane, !folded)}
    >
      <Icon name={icon} />
    </button>
  );
}
