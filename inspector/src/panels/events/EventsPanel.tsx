/** The messages of the open instance, raw or as universal events: filter, search, copy, export and import. */

import { useState } from "react";
import { StreamStatus } from "../../conversation/header/StreamStatus";
import type { Instance } from "../../instance/instance";
import { useInstance } from "../../instance/useInstance";
import { useAppState, type AppState } from "../../state/appState";
import { useObservable } from "../../state/observable";
import { selectedEvent } from "../../state/selection";
import { Empty } from "../../ui/Empty";
import { Icon } from "../../ui/Icon";
import { saveFile } from "../../ui/saveFile";
import { ImportButton } from "./ImportButton";
import { exportJsonl } from "./jsonl";
import { RawEvents } from "./RawEvents";
import { UniversalEvents } from "./UniversalEvents";

interface Props {
  instance: Instance | undefined;
  showMain: () => void;
}

export function EventsPanel({ instance, showMain }: Props) {
  const jump = useObservable(selectedEvent);
  return (
    <div className="panel events">
      {instance ? (
        // A new key resets view, filter and search, so that the event to jump to is shown.
        <OpenEvents key={jump} instance={instance} jump={jump} showMain={showMain} />
      ) : (
        <Empty title="No conversation is open">Open a session or a live server to see its messages.</Empty>
      )}
    </div>
  );
}

function agentOfInstance(app: AppState, serverId: string): string | undefined {
  const session = app.sessions.sessions.get()?.find((one) => one.serverId === serverId);
  return session?.agent ?? app.servers.state.get().servers.find((one) => one.serverId === serverId)?.agent;
}

interface OpenProps {
  instance: Instance;
  jump: number | undefined;
  showMain: () => void;
}

function OpenEvents({ instance, jump, showMain }: OpenProps) {
  const snapshot = useInstance(instance);
  const [view, setView] = useState<"raw" | "universal">("raw");
  const [filter, setFilter] = useState("all");
  const [search, setSearch] = useState("");
  const app = useAppState();
  const download = () => {
    const { serverId } = instance;
    const entries = snapshot.entries.slice(0, snapshot.entryCount);
    saveFile(`${serverId}.jsonl`, exportJsonl(entries, serverId, agentOfInstance(app, serverId)));
  };
  return (
    <>
      <div className="toolbar">
        <div className="segmented" role="group" aria-label="View">
          <button type="button" aria-pressed={view === "raw"} onClick={() => setView("raw")}>
            Raw ACP
          </button>
          <button type="button" aria-pressed={view === "universal"} onClick={() => setView("universal")}>
            Universal
          </button>
        </div>
        <span className="muted" data-testid="event-count">
          {snapshot.entryCount.toLocaleString()}
          <span className="visually-hidden"> messages</span>
        </span>
        <span className="grow" />
        <button type="button" className="button small" onClick={download}>
          <Icon name="download" size={14} /> Export
        </button>
        <ImportButton imported={showMain} />
      </div>
      <div className="toolbar">
        <label className="search">
          <Icon name="search" size={14} />
          <input
            type="search"
            value={search}
            placeholder="Search"
            aria-label="Search events"
            onChange={(event) => setSearch(event.target.value)}
          />
        </label>
        {view === "raw" && (
          <select
            value={filter}
            aria-label="Filter events"
            onChange={(event) => setFilter(event.target.value)}
          >
            <option value="all">All</option>
            <option value="client">From clients</option>
            <option value="agent">From the agent</option>
            <option value="update">Updates</option>
            <option value="request">Requests</option>
            <option value="response">Responses</option>
            <option value="question">Permissions and questions</option>
            <option value="adapter">Adapter</option>
            <option value="gap">Gaps</option>
          </select>
        )}
        <StreamStatus snapshot={snapshot} />
      </div>
      {view === "raw" ? (
        <RawEvents snapshot={snapshot} filter={filter} search={search} jump={jump} />
      ) : (
        <UniversalEvents instance={instance} snapshot={snapshot} search={search} />
      )}
    </>
  );
}
