/** One row of the conversation. */

import { memo } from "react";
import type { Item, MessageItem } from "../../fold/chat/conversation";
import type { Row } from "../../fold/chat/rows";
import { MarkdownBlock } from "../../markdown/MarkdownBlock";
import { clock, duration, money } from "../../ui/format";
import { Icon } from "../../ui/Icon";
import { Attachments } from "./Attachments";
import { EventLink } from "./EventLink";
import { MessageActions } from "./MessageActions";
import { Notes } from "./Notes";
import { Plan } from "./Plan";
import type { PromptActions } from "../promptActions";
import { RequestCard } from "../requests/RequestCard";
import type { RowSource } from "./rowSource";
import { Thought } from "./Thought";
import { ToolCard } from "../tools/ToolCard";

interface Props {
  row: Row;
  instance: RowSource;
  answerable: boolean;
  prompts?: PromptActions;
}

export const RowView = memo(function RowView({ row, instance, answerable, prompts }: Props) {
  if (row.type === "notes") return <Notes notes={row.notes} />;
  if (row.type === "item") {
    return <ItemView item={row.item} instance={instance} answerable={answerable} prompts={prompts} />;
  }
  const { item, block, first, last } = row;
  // A row of a finished block is not drawn again when its message grows, so it asks for the text of the day.
  const message = () => (instance.snapshot().conversation.items[Number(item.key)] as MessageItem).text;
  return (
    <div className={`message ${item.role}${first ? " first" : ""}${last ? " last" : ""}`}>
      {first && (
        <div className="message-head">
          {item.role === "user" ? "You" : "Agent"} <time className="muted">{clock(item.time)}</time>
          <MessageActions item={item} message={message} prompts={prompts} />
        </div>
      )}
      {block?.type === "verbatim" && <div className="verbatim">{block.text}</div>}
      {block && block.type !== "verbatim" && <MarkdownBlock block={block} message={message} />}
      {last && item.attachments.length > 0 && <Attachments blocks={item.attachments} />}
    </div>
  );
});

interface ItemProps {
  item: Item;
  instance: RowSource;
  answerable: boolean;
  prompts?: PromptActions;
}

function ItemView({ item, instance, answerable, prompts }: ItemProps) {
  switch (item.kind) {
    case "thought":
      return <Thought item={item} />;
    case "tool":
      return <ToolCard item={item} />;
    case "plan":
      return <Plan item={item} />;
    case "request":
      return <RequestCard item={item} instance={instance} answerable={answerable} />;
    case "gap":
      return (
        <div className="gap-mark" role="note">
          <Icon name="warning" size={14} /> Events are missing here: the server has kept {item.gap.oldest} to{" "}
          {item.gap.newest} only.
        </div>
      );
    case "turn-end":
      return (
        <div className={`turn-end ${item.stopReason === "end_turn" ? "" : "notable"}`}>
          <span>
            {item.stopReason === "end_turn" ? "turn ended" : item.stopReason.replaceAll("_", " ")}
            {item.durationMs > 0 ? ` · ${duration(item.durationMs)}` : ""}
            {item.tokens ? ` · ${item.tokens.toLocaleString()} tokens` : ""}
            {item.cost ? ` · ${money(item.cost)}` : ""}
          </span>
          {RETRIED.includes(item.stopReason) && prompts && (
            <button type="button" className="link-button" onClick={() => prompts.retry(item)}>
              Retry
            </button>
          )}
        </div>
      );
    case "note":
      return (
        <div className={`note ${item.level}`}>
          <Icon name="warning" size={14} />
          <div className="grow">
            <strong>{item.label}</strong>
            {item.detail && <pre>{item.detail}</pre>}
          </div>
          <EventLink n={item.n} />
        </div>
      );
    default:
      return null;
  }
}

/** Ends of a turn after which the same prompt may succeed. */
const RETRIED = ["error", "interrupted", "agent exited", "cancelled"];
