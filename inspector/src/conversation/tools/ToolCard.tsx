/** A tool call: its title, status, locations, content, input and output. */

import type { ToolCallContent } from "@agentclientprotocol/sdk";
import { useState } from "react";
import type { FilePatch, ToolItem } from "../../fold/chat/conversation";
import type { Json } from "../../json";
import { duration, pretty } from "../../ui/format";
import { Icon, type IconName } from "../../ui/Icon";
import { Attachment } from "../rows/Attachments";
import { DiffView } from "./DiffView";
import { Locations, placesBeside } from "../rows/PathLink";
import { TerminalOutput } from "./TerminalOutput";
import { ToolText } from "./ToolText";

const ICONS: Record<string, IconName> = {
  read: "file",
  edit: "edit",
  delete: "trash",
  move: "file",
  search: "search",
  execute: "terminal",
  think: "brain",
  fetch: "globe",
  switch_mode: "shield",
};

const STATUS_LABELS: Record<string, string> = {
  pending: "waiting",
  in_progress: "running",
  completed: "done",
  failed: "failed",
  interrupted: "interrupted",
};

export function ToolCard({ item }: { item: ToolItem }) {
  const [open, setOpen] = useState(false);
  const tookMs = item.endedAt && item.time ? item.endedAt - item.time : 0;
  return (
    <div className={`tool ${item.status}`} data-depth={Math.min(item.depth, 4)}>
      <button type="button" className="tool-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={ICONS[item.toolKind] ?? "tool"} size={15} />
        <span className="tool-title">{item.title}</span>
        <span className={`pill tool-status ${item.status}`}>{STATUS_LABELS[item.status] ?? item.status}</span>
        {tookMs >= 1 && <span className="muted small-text">{duration(tookMs)}</span>}
        <span className={open ? "tool-chevron turned" : "tool-chevron"}>
          <Icon name="chevron" size={14} />
        </span>
      </button>
      {(open || !item.isAskedFor) && (
        <>
          <Locations locations={placesBeside(item.locations, item.content)} />
          {item.content.map((content, index) => (
            <ToolContent key={index} content={content} item={item} />
          ))}
        </>
      )}
      {item.terminal && !item.content.some((content) => content.type === "terminal") && (
        <TerminalOutput text={item.terminal.text} exitCode={item.terminal.exitCode} />
      )}
      {open && (
        <div className="tool-details">
          <JsonPart title="Input" value={item.rawInput} />
          <JsonPart title="Output" value={item.rawOutput} />
          <p className="muted mono small-text">
            {item.toolKind} · {item.toolCallId}
          </p>
        </div>
      )}
    </div>
  );
}

function ToolContent({ content, item }: { content: ToolCallContent | FilePatch; item: ToolItem }) {
  if (content.type === "diff") return <DiffView diff={content} />;
  if (content.type === "terminal")
    return <TerminalOutput text={item.terminal?.text ?? ""} exitCode={item.terminal?.exitCode} />;
  if (content.content.type === "text") {
    const { text } = content.content;
    // eslint-disable-next-line no-control-regex -- a colour code tells output of a terminal
    const terminal = item.toolKind === "execute" || /\u001b\[/.test(text);
    return terminal ? <TerminalOutput text={text} /> : <ToolText text={text} />;
  }
  return <Attachment block={content.content} />;
}

function JsonPart({ title, value }: { title: string; value: Json | undefined }) {
  if (value === undefined || value === null) return null;
  return (
    <div>
      <h4>{title}</h4>
      <pre className="json" tabIndex={0}>
        {pretty(value)}
      </pre>
    </div>
  );
}
