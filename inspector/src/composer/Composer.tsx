/**
 * The input of prompts: Enter sends or queues, Shift+Enter makes a new line, `/` lists the agent's commands, `@`
 * files; files are attached by button, paste and drop.
 */

import { useCallback, useEffect, useRef, useState, type ClipboardEvent, type DragEvent } from "react";
import { useInstance } from "../instance/useInstance";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { ErrorBox } from "../ui/ErrorBox";
import { Icon } from "../ui/Icon";
import { useLoaded } from "../ui/hooks/useLoaded";
import { useTask } from "../ui/hooks/useTask";
import { AttachmentChips } from "./AttachmentChips";
import { uploadAttachment } from "./attachments";
import { matchingCommands } from "./commandMenu";
import type { PromptTarget } from "./promptTarget";
import { matchingFiles, mentionAt } from "./fileMentions";
import { filesBelow } from "./filesBelow";
import { QueueList } from "./QueueList";
import { StopButton } from "./StopButton";
import { SuggestionMenu, type Suggestion } from "./SuggestionMenu";
import { useComposerKeys } from "./useComposerKeys";

const MAX_HEIGHT_PX = 240;
/** A beginning of a file name of this length is looked for in all folders. */
const SEARCHED_CHARS = 2;

export function Composer({ target }: { target: PromptTarget }) {
  const { instance, queue, draft, directory, over } = target;
  const { api } = useAppState();
  const { conversation } = useInstance(instance);
  const { text, attachments } = useObservable(draft.state);
  const { prompts } = useObservable(queue.state);
  const focusWanted = useObservable(draft.focus);
  const [cursor, setCursor] = useState(text.length);
  const [dropping, setDropping] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const upload = useTask();
  const busy = conversation.turns.length > 0;
  const empty = !text.trim() && attachments.length === 0;

  const mention = directory ? mentionAt(text, cursor) : undefined;
  const folder = mention && `${directory.replace(/\/$/, "")}/${mention.folder}`;
  const listed = useLoaded(
    useCallback(async () => (folder ? api.entries(folder, true).catch(() => []) : []), [api, folder]),
  );
  const searched = mention?.folder === "" && mention.prefix.length >= SEARCHED_CHARS ? directory : undefined;
  const below = useLoaded(
    useCallback(async () => (searched ? filesBelow(api, searched) : []), [api, searched]),
  );
  const suggestions = mention
    ? matchingFiles([...(listed.value ?? []), ...(searched ? (below.value ?? []) : [])], mention)
    : matchingCommands(conversation.commands, text);

  useEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(MAX_HEIGHT_PX, element.scrollHeight + 2)}px`;
  }, [text]);
  useEffect(() => field.current?.focus(), [focusWanted]);
  // The buttons Stop and Send now go with the turn; the focus that one of them had goes to the field.
  useEffect(() => {
    if (document.activeElement === document.body) field.current?.focus();
  }, [busy]);

  const write = (next: string, at = next.length) => {
    draft.change({ text: next });
    setCursor(at);
    // React sets the value after this; the cursor is moved then.
    requestAnimationFrame(() => field.current?.setSelectionRange(at, at));
  };
  const send = () => {
    if (empty) return;
    queue.add({ text: text.trim(), attachments });
    draft.clear();
    target.sent?.();
  };
  const choose = (chosen: Suggestion) => {
    write(
      text.slice(0, chosen.start) + chosen.insert + text.slice(cursor),
      chosen.start + chosen.insert.length,
    );
    if (chosen.file) draft.change({ attachments: [...attachments, chosen.file] });
    field.current?.focus();
  };
  const attach = (files: readonly File[]) => {
    if (files.length === 0 || !directory) return;
    void upload.run(async () => {
      for (const file of files) {
        const uploaded = await uploadAttachment(api, directory, file);
        draft.change({ attachments: [...draft.state.get().attachments, uploaded] });
      }
    });
  };
  const keys = useComposerKeys({ text, items: conversation.items, suggestions, choose, send, write });

  const paste = (event: ClipboardEvent) => {
    const files = [...event.clipboardData.files];
    if (files.length > 0 && directory) {
      event.preventDefault();
      attach(files);
    }
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setDropping(false);
    attach([...event.dataTransfer.files]);
  };
  return (
    <div
      className={dropping ? "composer dropping" : "composer"}
      onDragOver={(event) => {
        event.preventDefault();
        setDropping(directory !== "");
      }}
      onDragLeave={() => setDropping(false)}
      onDrop={drop}
    >
      {upload.error !== undefined && <ErrorBox error={upload.error} />}
      <QueueList queue={queue} draft={draft} over={over} />
      <SuggestionMenu suggestions={keys.suggestions} active={keys.active} choose={choose} />
      <AttachmentChips draft={draft} />
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
                attach([...(event.target.files ?? [])]);
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
          placeholder={placeholder(over, busy)}
          onChange={(event) => {
            draft.change({ text: event.target.value });
            setCursor(event.target.selectionStart);
            keys.typed();
          }}
          onSelect={(event) => setCursor(event.currentTarget.selectionStart)}
          onKeyDown={keys.pressed}
          onPaste={paste}
          aria-autocomplete="list"
          aria-controls={keys.suggestions.length > 0 ? "command-menu" : undefined}
        />
        {busy && <StopButton instance={instance} end={target.end} />}
        {(!busy || !empty) && (
          <button type="button" className="button primary" disabled={empty} onClick={send}>
            <Icon name="send" size={14} /> {busy || prompts.length > 0 || over ? "Queue" : "Send"}
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

function placeholder(over: boolean, busy: boolean): string {
  if (over) return "Kept, and sent after Resume";
  return busy ? "Enter queues the next prompt" : "Ask the agent · @ for a file · / for a command";
}
