/** The panels beside the conversation. */

import { useEffect, type KeyboardEvent } from "react";
import type { Instance } from "./live/instance";
import { AgentsPanel } from "./panels/AgentsPanel";
import { EventsPanel } from "./panels/EventsPanel";
import { FilesPanel } from "./panels/FilesPanel";
import { McpPanel } from "./panels/McpPanel";
import { RequestsPanel } from "./panels/RequestsPanel";
import { SkillsPanel } from "./panels/SkillsPanel";
import { focusEvent } from "./session/focus";
import { useObservable } from "./session/observable";
import { useStored } from "./ui/useStored";

const TABS = ["Events", "Agents", "Files", "MCP", "Skills", "Requests"] as const;

export function Dock({ instance, showMain }: { instance: Instance | undefined; showMain: () => void }) {
  const [tab, setTab] = useStored("dock-tab", "Events");
  const jump = useObservable(focusEvent);
  useEffect(() => {
    if (jump !== undefined) setTab("Events");
  }, [jump]);
  const arrow = (event: KeyboardEvent) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = TABS[(TABS.indexOf(tab as never) + step + TABS.length) % TABS.length]!;
    setTab(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return (
    <aside className="dock" aria-label="Panels">
      <div className="tabs" role="tablist" aria-label="Panels" onKeyDown={arrow}>
        {TABS.map((name) => (
          <button
            key={name}
            id={`tab-${name}`}
            type="button"
            role="tab"
            aria-selected={tab === name}
            aria-controls="dock-panel"
            tabIndex={tab === name ? 0 : -1}
            onClick={() => setTab(name)}
          >
            {name}
          </button>
        ))}
      </div>
      <div className="dock-panel" id="dock-panel" role="tabpanel" aria-labelledby={`tab-${tab}`}>
        {tab === "Events" && <EventsPanel instance={instance} showMain={showMain} />}
        {tab === "Agents" && <AgentsPanel />}
        {tab === "Files" && <FilesPanel />}
        {tab === "MCP" && <McpPanel />}
        {tab === "Skills" && <SkillsPanel />}
        {tab === "Requests" && <RequestsPanel />}
      </div>
    </aside>
  );
}
