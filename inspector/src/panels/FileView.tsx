/** One file: view, edit and save it. */

import { useCallback, useState } from "react";
import type { FsEntry } from "../api/bodies";
import { useAppState } from "../state/appState";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { bytes } from "../ui/format";
import { Icon } from "../ui/Icon";
import { useLoaded } from "../ui/useLoaded";
import { useTask } from "../ui/useTask";

/** Typing in a text field with more than this is slow. */
const MAX_TEXT_BYTES = 1_000_000;

export function FileView({ entry, close }: { entry: FsEntry; close: () => void }) {
  const { api } = useAppState();
  const [draft, setDraft] = useState<string | undefined>();
  const [saved, setSaved] = useState(false);
  const task = useTask();
  const content = useLoaded(
    useCallback(
      async () => (entry.size > MAX_TEXT_BYTES ? undefined : decodedText(await api.readFile(entry.path))),
      [api, entry],
    ),
  );
  const save = () =>
    void task.run(async () => {
      await api.writeFile(entry.path, draft ?? "");
      setSaved(true);
      setDraft(undefined);
      content.reload();
    });
  return (
    <div className="panel">
      <div className="toolbar">
        <button type="button" className="button small" onClick={close}>
          Back
        </button>
        <span className="mono grow ellipsis" title={entry.path}>
          {entry.path}
        </span>
        <span className="muted">{bytes(entry.size)}</span>
        <button
          type="button"
          className="button small primary"
          disabled={draft === undefined || task.running}
          onClick={save}
        >
          <Icon name="check" size={14} /> Save
        </button>
      </div>
      {task.error !== undefined && <ErrorBox error={task.error} />}
      {saved && draft === undefined && (
        <p className="good-text small-text" role="status">
          Saved.
        </p>
      )}
      {content.loading && content.value === undefined && <Loading what="the file" />}
      {content.error !== undefined && <ErrorBox error={content.error} retry={content.reload} />}
      {!content.loading && content.error === undefined && content.value === undefined && (
        <Empty title="This file cannot be shown">
          It is larger than 1 MB or not text. Download it instead.
        </Empty>
      )}
      {content.value !== undefined && (
        <textarea
          className="file-text mono"
          aria-label="File content"
          spellCheck={false}
          value={draft ?? content.value}
          onChange={(event) => {
            setDraft(event.target.value);
            setSaved(false);
          }}
        />
      )}
    </div>
  );
}

async function decodedText(blob: Blob): Promise<string | undefined> {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await blob.arrayBuffer());
  } catch {
    return undefined;
  }
}
