/** One file: preview, edit and save it. Edits are kept until they are saved; a newer file is not overwritten unasked. */

import { useCallback, useState, type KeyboardEvent } from "react";
import { ApiProblem } from "../api/problem";
import { useAppState } from "../state/appState";
import { Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { bytes } from "../ui/format";
import { Icon } from "../ui/Icon";
import { saveFile } from "../ui/saveFile";
import { useLoaded } from "../ui/hooks/useLoaded";
import { useTask } from "../ui/hooks/useTask";
import { fileDrafts } from "./fileDrafts";
import { readShown } from "./fileContent";
import { FilePreview } from "./FilePreview";

export function FileView({ path, close }: { path: string; close: () => void }) {
  const { api } = useAppState();
  const content = useLoaded(useCallback(() => readShown(api, path), [api, path]));
  const [draft, setDraft] = useState(() => fileDrafts.get(path));
  const [saved, setSaved] = useState(false);
  const [editing, setEditing] = useState(false);
  const task = useTask();
  const shown = content.value;
  const editable = shown?.kind === "text" && shown.whole;

  const edit = (text: string) => {
    // The draft remembers which version it is of, so that saving can tell a newer one.
    const next = { text, etag: draft?.etag ?? shown?.etag ?? "" };
    setDraft(next);
    fileDrafts.set(path, next);
    setSaved(false);
  };
  const drop = () => {
    fileDrafts.delete(path);
    setDraft(undefined);
  };
  const save = (overwrite: boolean) =>
    void task.run(async () => {
      if (!draft) return;
      await api.writeFile(path, draft.text, overwrite ? undefined : draft.etag);
      drop();
      setSaved(true);
      content.reload();
    });
  const pressed = (event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || event.key !== "s") return;
    event.preventDefault();
    save(false);
  };
  const changed = task.error instanceof ApiProblem && task.error.status === 412;
  const preview = shown && (shown.kind !== "text" || (shown.previewed && !editing && !draft));
  return (
    <div className="panel" onKeyDown={pressed}>
      <div className="toolbar">
        <button type="button" className="button small" onClick={close}>
          Back
        </button>
        <span className="mono grow ellipsis" title={path}>
          {path.slice(path.lastIndexOf("/") + 1)}
        </span>
        <span className="muted">{shown ? bytes(shown.size) : ""}</span>
        {shown?.kind === "text" && shown.previewed && (
          <button
            type="button"
            className="button small"
            aria-pressed={editing}
            onClick={() => setEditing(!editing)}
          >
            {editing ? "Preview" : "Edit"}
          </button>
        )}
        <button
          type="button"
          className="icon-button"
          aria-label="Download"
          title="Download"
          onClick={() =>
            void task.run(async () =>
              saveFile(path.slice(path.lastIndexOf("/") + 1), await api.readFile(path)),
            )
          }
        >
          <Icon name="download" />
        </button>
        {draft && (
          <button type="button" className="button small" onClick={drop}>
            Discard
          </button>
        )}
        {editable && !preview && (
          <button
            type="button"
            className="button small primary"
            disabled={!draft || task.running}
            onClick={() => save(false)}
          >
            <Icon name="check" size={14} /> Save
          </button>
        )}
      </div>
      {changed ? (
        <div className="error-box" role="alert">
          <Icon name="warning" />
          <div className="grow">
            <strong>The file has changed on the server</strong>
            <p>Your edit is kept. Overwrite the newer file, or discard your edit to see it.</p>
          </div>
          <button type="button" className="button small danger" onClick={() => save(true)}>
            Overwrite
          </button>
        </div>
      ) : (
        task.error !== undefined && <ErrorBox error={task.error} />
      )}
      {saved && !draft && (
        <p className="good-text small-text" role="status">
          Saved.
        </p>
      )}
      {draft && shown && draft.etag !== shown.etag && !changed && (
        <p className="warn-text small-text" role="status">
          An edit of an older version; the file has changed since.
        </p>
      )}
      {content.loading && shown === undefined && <Loading what="the file" />}
      {content.error !== undefined && <ErrorBox error={content.error} retry={content.reload} />}
      {shown?.kind === "binary" && (
        <p className="file-remark muted small-text">
          Not text: these are its first bytes. Download it to see all.
        </p>
      )}
      {preview && <FilePreview path={path} content={shown} />}
      {shown?.kind === "text" && !preview && (
        <>
          {!shown.whole && (
            <p className="file-remark muted small-text">
              The first megabyte; a larger file is not edited here.
            </p>
          )}
          <textarea
            className="file-text mono"
            aria-label="File content"
            spellCheck={false}
            readOnly={!editable}
            value={draft?.text ?? shown.text}
            onChange={(event) => edit(event.target.value)}
          />
        </>
      )}
    </div>
  );
}
