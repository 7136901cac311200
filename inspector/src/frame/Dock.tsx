/** The panels beside the page. Each is loaded when it is opened first. */

import { lazy, type KeyboardEvent } from "react";
import type { Instance } from "../instance/instance";
import { useObservable } from "../state/observable";
import { currentRoute } from "../state/route";
import { panelShown, panelsOf, selectedPanel, showPanel } from "../state/selection";
import { Loading } from "../ui/Empty";
import { Part } from "../ui/Part";
import { WorkbenchPanel } from "../workbench/WorkbenchPanel";

const EventsPanel = lazy(async () => ({
  default: (await import("../panels/events/EventsPanel")).EventsPanel,
}));
const TimelinePanel = lazy(async () => ({
  default: (await import("../timeline/TimelinePanel")).TimelinePanel,
}));
const AgentsPanel = lazy(async () => ({ default: (await import("../panels/AgentsPanel")).AgentsPanel }));
const FilesPanel = lazy(async () => ({ default: (await import("../files/FilesPanel")).FilesPanel }));
const McpPanel = lazy(async () => ({ default: (await import("../panels/mcp/McpPanel")).McpPanel }));
const SkillsPanel = lazy(async () => ({ default: (await import("../panels/SkillsPanel")).SkillsPanel }));
const RequestsPanel = lazy(async () => ({
  default: (await import("../panels/RequestsPanel")).RequestsPanel,
}));

const STEPS: Record<string, number> = { ArrowRight: 1, ArrowLeft: -1 };

export function Dock({ instance, showMain }: { instance: Instance | undefined; showMain: () => void }) {
  const route = useObservable(currentRoute);
  const tab = panelShown(route, useObservable(selectedPanel));
  const panels = panelsOf(route);
  const arrow = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (!step) return;
    const next = panels[(panels.indexOf(tab) + step + panels.length) % panels.length]!;
    showPanel(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <aside className="dock" aria-label="Panels">
      <div className="tabs" role="tablist" aria-label="Panels" onKeyDown={arrow}>
        {panels.map((name) => (
          <button
            key={name}
            id={`tab-${name}`}
            type="button"
            role="tab"
            aria-selected={tab === name}
            aria-controls="dock-panel"
            tabIndex={tab === name ? 0 : -1}
            onClick={() => showPanel(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div className="dock-panel" id="dock-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        <Part key={tab} fallback={<Loading what="the panel" />}>
          {tab === "Events" && <EventsPanel instance={instance} showMain={showMain} />}
          {tab === "Timeline" && <TimelinePanel instance={instance} showMain={showMain} />}
          <WorkbenchPanel name={tab} />
          {tab === "Agents" && <AgentsPanel />}
          {tab === "Files" && <FilesPanel />}
          {tab === "MCP" && <McpPanel />}
          {tab === "Skills" && <SkillsPanel />}
          {tab === "Requests" && <RequestsPanel />}
        </Part>
      </div>
    </aside>
  );
}
