/** The input of prompts: Enter sends, Shift+Enter makes a new line, `/` lists the agent's commands. */

import type { ContentBlock } from "@agentclientprotocol/sdk";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { replayBlock } from "../fold/replayBlock";
import type { Instance } from "../instance/instance";
import { useInstance } from "../instance/useInstance";
import { attachmentBlock, uploadAttachment, type Attachment } from "../session/attachments";
import { stopTurn } from "../session/stopTurn";
import { useAppState } from "../state/appState";
import { ErrorBox } from "../ui/ErrorBox";
import { Icon } from "../ui/Icon";
import { useTask } from "../ui/useTask";
import { CommandMenu, matchingCommands } from "./CommandMenu";

interface Props {
  instance: Instance;
  sessionId: string;
  /** Directory for attachments; empty if unknown. */
  directory: string;
  /** The agent lost the conversation: the prompt carries it. */
  replay?: boolean;
  sent: () => void;
}

export function Composer({ instance, sessionId, directory, replay = false, sent }: Props) {
  const app = useAppState();
  const { conversation } = useInstance(instance);
  const [text, setText] = useState("");
  const [attachments, setAttachments] = useState<Attachment[]>([]);
  const [active, setActive] = useState(0);
  const [menuClosed, setMenuClosed] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const task = useTask();
  const upload = useTask();
  const busy = conversation.turns.length > 0;
  const matches = menuClosed ? [] : matchingCommands(conversation.commands, text);

  useEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(240, element.scrollHeight + 2)}px`;
  }, [text]);

  const send = () => {
    const prompt = text.trim();
    if (!prompt && attachments.length === 0) return;
    const history = replay ? replayBlock(conversation.items) : undefined;
    const blocks: ContentBlock[] = attachments.map(attachmentBlock);
    if (prompt) blocks.unshift({ type: "text", text: prompt });
    if (history) blocks.unshift(history);
    setText("");
    setAttachments([]);
    sent();
    // Not awaited: the turn may last for hours, and the conversation shows how it ends.
    instance.request("session/prompt", { sessionId, prompt: blocks }).catch(() => undefined);
  };

  const complete = (name: string) => {
    setText(`/${name} `);
    field.current?.focus();
  };

  const pressed = (event: KeyboardEvent) => {
    if (matches.length > 0) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) {
        event.preventDefault();
        setActive((active + step + matches.length) % matches.length);
        return;
      }
      const isWhole = text.slice(1).trimEnd() === matches[active]?.name;
      if (event.key === "Tab" || (event.key === "Enter" && !isWhole)) {
        event.preventDefault();
        complete(matches[Math.min(active, matches.length - 1)]!.name);
        return;
      }
      if (event.key === "Escape") {
        event.preventDefault();
        setMenuClosed(true);
        return;
      }
    }
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) {
      event.preventDefault();
      if (!busy) send();
    }
  };

  const attach = (files: FileList | null) => {
    if (!files) return;
    void upload.run(async () => {
      for (const file of files) {
        const uploaded = await uploadAttachment(app.api, directory, file);
        setAttachments((before) => [...before, uploaded]);
      }
    });
  };

  return (
    <div className="composer">
      {task.error !== undefined && <ErrorBox error={task.error} />}
      {upload.error !== undefined && <ErrorBox error={upload.error} />}
      <CommandMenu commands={matches} active={active} choose={complete} />
      {attachments.length > 0 && (
        <div className="chips">
          {attachments.map((one) => (
            <span key={one.path} className="file-chip">
              <Icon name="file" size={14} /> {one.name}
              <button
                type="button"
                className="icon-button tiny"
                aria-label={`Remove ${one.name}`}
                onClick={() => setAttachments(attachments.filter((other) => other !== one))}
              >
                <Icon name="close" size={12} />
              </button>
            </span>
          ))}
        </div>
      )}
      <div className="composer-row">
        {directory && (
          <label className="icon-button attach" title="Attach files">
            <Icon name="clip" />
            <input
              type="file"
              multiple
              className="visually-hidden"
              aria-label="Attach files"
              disabled={upload.running}
              onChange={(event) => {
                attach(event.target.files);
                event.target.value = "";
              }}
            />
          </label>
        )}
        <textarea
          ref={field}
          rows={1}
          value={text}
          aria-label="Prompt"
          placeholder={
            busy ? "The agent is working…" : "Ask the agent. Enter sends, Shift+Enter makes a new line."
          }
          onChange={(event) => {
            setText(event.target.value);
            setMenuClosed(false);
            setActive(0);
          }}
          onKeyDown={pressed}
          aria-autocomplete="list"
          aria-controls={matches.length > 0 ? "command-menu" : undefined}
        />
        {busy ? (
          <button
            type="button"
            className="button danger"
            disabled={task.running}
            onClick={() => void task.run(() => stopTurn(instance))}
          >
            <Icon name="stop" size={14} /> Stop
          </button>
        ) : (
          <button
            type="button"
            className="button primary"
            disabled={!text.trim() && attachments.length === 0}
            onClick={send}
          >
            <Icon name="send" size={14} /> Send
          </button>
        )}
      </div>
      {upload.running && (
        <p className="muted small-text" role="status">
          Uploading…
        </p>
      )}
    </div>
  );
}
