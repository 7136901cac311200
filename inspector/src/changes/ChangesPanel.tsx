/** What differs from the last commit in a directory, file by file, following the agent as it works. */

import { useEffect, useState, type FormEvent } from "react";
import type { GitFileDiff } from "../api/bodies";
import { ApiProblem } from "../api/problem";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { selectedDirectory } from "../state/selection";
import { useDefaultDirectory } from "../state/useDefaultDirectory";
import "../styles/workbench.css";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { ago, count } from "../ui/format";
import { Icon } from "../ui/Icon";
import { useStored } from "../ui/hooks/useStored";
import { ChangesReader, type ChangesState } from "./changesReader";
import { PatchView } from "./PatchView";

/** The panel starts in the directory of the open session, and again when another session is opened. */
export function ChangesPanel() {
  const directory = useObservable(selectedDirectory);
  return <DirectoryChanges key={directory} start={directory} />;
}

function DirectoryChanges({ start }: { start: string }) {
  const [directory, setDirectory] = useState(start);
  const [typed, setTyped] = useState(start);
  const open = (path: string) => {
    setDirectory(path);
    setTyped(path);
  };
  useDefaultDirectory(typed, open);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    open(typed);
  };
  return (
    <div className="panel">
      <form className="toolbar" onSubmit={submit}>
        <input
          className="grow mono"
          aria-label="Directory"
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
        />
        <button type="submit" className="button small">
          Show
        </button>
      </form>
      {directory && <Followed key={directory} directory={directory} />}
    </div>
  );
}

function Followed({ directory }: { directory: string }) {
  const { http } = useAppState();
  const [reader, setReader] = useState<ChangesReader | undefined>();
  useEffect(() => {
    const made = new ChangesReader(http, directory);
    queueMicrotask(() => setReader(made));
    return () => made.close();
  }, [http, directory]);
  return reader ? <Changes reader={reader} /> : <Loading what="the changes" />;
}

function Changes({ reader }: { reader: ChangesReader }) {
  const state = useObservable(reader.state);
  const [columns, setColumns] = useStored("changes-columns", "unified");
  const { diff, error, changedAt } = state;
  if (error !== undefined) return <NoChanges error={error} retry={reader.read} />;
  if (!diff) return <Loading what="the changes" />;
  return (
    <>
      <div className="toolbar">
        <span role="status" className={state.live ? "pill good" : "pill"}>
          {state.live ? "live" : "not live"}
        </span>
        <span className="muted grow ellipsis">
          {count(diff.files.length, "file")} since {diff.base ? diff.base.slice(0, 8) : "the beginning"}
        </span>
        <div className="segmented" role="group" aria-label="Columns">
          {["unified", "split"].map((name) => (
            <button key={name} type="button" aria-pressed={columns === name} onClick={() => setColumns(name)}>
              {name === "split" ? "Side by side" : "Unified"}
            </button>
          ))}
        </div>
        <button
          type="button"
          className="icon-button"
          aria-label="Read again"
          title="Read again"
          onClick={reader.read}
        >
          <Icon name="refresh" />
        </button>
      </div>
      <div className="panel-scroll">
        <WatchNotice state={state} />
        {diff.truncated && (
          <div className="ended-bar">
            The diff is longer than the server sends; the last files are missing.
          </div>
        )}
        {diff.files.length === 0 && <Empty title="Nothing has changed since the last commit" />}
        {diff.files.map((file) => (
          <FileChange
            key={file.path}
            file={file}
            columns={columns === "split" ? "split" : "unified"}
            changedAt={changedAt.get(file.path)}
          />
        ))}
      </div>
    </>
  );
}

interface FileProps {
  file: GitFileDiff;
  columns: "unified" | "split";
  changedAt: number | undefined;
}

function FileChange({ file, columns, changedAt }: FileProps) {
  return (
    <details className="file-change" data-path={file.path} open>
      <summary>
        <code className="grow">
          {file.originalPath && `${file.originalPath} → `}
          {file.path}
        </code>
        {changedAt !== undefined && <span className="pill accent">changed {ago(changedAt)}</span>}
        <span className="muted">{file.submodule ? "submodule" : file.status}</span>
        {file.added !== undefined && <span className="good-text">+{file.added}</span>}
        {file.removed !== undefined && <span className="bad-text">-{file.removed}</span>}
      </summary>
      {file.patch ? (
        <PatchView path={file.path} patch={file.patch} columns={columns} />
      ) : (
        <p className="muted">{file.binary ? "Binary, or larger than 4 MiB." : "No lines differ."}</p>
      )}
    </details>
  );
}

function WatchNotice({ state }: { state: ChangesState }) {
  if (state.watchProblem?.status === 404) {
    return (
      <div className="ended-bar">
        The server does not report changes (<code>--fs-watch off</code>): press “Read again” to see new ones.
      </div>
    );
  }
  return state.watchProblem ? <div className="ended-bar">{state.watchProblem.message}</div> : null;
}

function NoChanges({ error, retry }: { error: unknown; retry: () => void }) {
  if (!(error instanceof ApiProblem) || error.status !== 404) return <ErrorBox error={error} retry={retry} />;
  if (error.setting === "--git") {
    return (
      <Empty title="Changes are switched off">
        The server was started with <code>--git off</code>.
      </Empty>
    );
  }
  return (
    <Empty title="No git repository here">
      {error.message}. Changes are shown for a directory of a git repository; <code>git init</code> makes one.
    </Empty>
  );
}
