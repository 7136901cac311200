/** Copy a message; edit and send a prompt again. */

import type { MessageItem } from "../../fold/chat/conversation";
import { CopyButton } from "../../ui/CopyButton";
import { Icon } from "../../ui/Icon";
import type { PromptActions } from "../promptActions";

interface Props {
  item: MessageItem;
  message: () => string;
  prompts?: PromptActions;
}

export function MessageActions({ item, message, prompts }: Props) {
  return (
    <span className="message-actions">
      <CopyButton text={message} label={item.role === "user" ? "Copy prompt" : "Copy message"} />
      {item.role === "user" && prompts && (
        <button
          type="button"
          className="icon-button"
          aria-label="Edit and send again"
          title="Edit and send again"
          onClick={() => prompts.edit(item)}
        >
          <Icon name="edit" size={14} />
        </button>
      )}
    </span>
  );
}
