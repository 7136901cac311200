/** The files of the server's machine: browse, view, edit, upload, download. */

import { useCallback, useState, type FormEvent } from "react";
import type { FsEntry } from "../api/bodies";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { selectedDirectory } from "../state/selection";
import { useDefaultDirectory } from "../state/useDefaultDirectory";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { bytes } from "../ui/format";
import { Icon } from "../ui/Icon";
import { saveFile } from "../ui/saveFile";
import { useLoaded } from "../ui/useLoaded";
import { useTask } from "../ui/useTask";
import { FileView } from "./FileView";

const SHOWN_ENTRIES = 200;

/** The panel starts in the directory of the open session, and again when another session is opened. */
export function FilesPanel() {
  const directory = useObservable(selectedDirectory);
  return <DirectoryFiles key={directory} start={directory} />;
}

function DirectoryFiles({ start }: { start: string }) {
  const { api } = useAppState();
  const [directory, setDirectory] = useState(start);
  const [typed, setTyped] = useState(start);
  const [file, setFile] = useState<FsEntry | undefined>();
  const task = useTask();
  const entries = useLoaded(
    useCallback(async () => (directory ? sorted(await api.entries(directory)) : []), [api, directory]),
  );

  const open = (path: string) => {
    setDirectory(path);
    setTyped(path);
    setFile(undefined);
  };
  useDefaultDirectory(typed, open);

  const upload = (files: FileList | null) =>
    void task.run(async () => {
      for (const one of files ?? []) await api.writeFile(join(directory, one.name), one);
      entries.reload();
    });
  const makeFolder = () => {
    const name = window.prompt("Name of the new folder");
    if (name) void task.run(() => api.makeDirectory(join(directory, name)).then(entries.reload));
  };
  const remove = (entry: FsEntry) => {
    const what = entry.entryType === "directory" ? "this folder and everything in it" : "this file";
    if (window.confirm(`Delete ${what}?\n${entry.path}`)) {
      void task.run(() => api.deleteEntry(entry.path, entry.entryType === "directory").then(entries.reload));
    }
  };
  const download = (entry: FsEntry) =>
    void task.run(async () => saveFile(entry.name, await api.readFile(entry.path)));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    open(typed);
  };

  if (file) return <FileView entry={file} close={() => setFile(undefined)} />;
  return (
    <div className="panel">
      <form className="toolbar" onSubmit={submit}>
        <button
          type="button"
          className="icon-button"
          aria-label="Parent folder"
          title="Parent folder"
          disabled={directory === "/"}
          onClick={() => open(parent(directory))}
        >
          <Icon name="arrowUp" />
        </button>
        <input
          className="grow mono"
          value={typed}
          aria-label="Directory"
          spellCheck={false}
          onChange={(event) => setTyped(event.target.value)}
        />
        <button
          type="button"
          className="icon-button"
          aria-label="Refresh"
          title="Refresh"
          onClick={entries.reload}
        >
          <Icon name="refresh" />
        </button>
        <button
          type="button"
          className="icon-button"
          aria-label="New folder"
          title="New folder"
          onClick={makeFolder}
        >
          <Icon name="plus" />
        </button>
        <label className="button small">
          <Icon name="upload" size={14} /> Upload
          <input
            type="file"
            multiple
            className="visually-hidden"
            aria-label="Upload files"
            onChange={(event) => {
              upload(event.target.files);
              event.target.value = "";
            }}
          />
        </label>
      </form>
      <div className="panel-scroll">
        {task.error !== undefined && <ErrorBox error={task.error} />}
        {entries.error !== undefined && <ErrorBox error={entries.error} retry={entries.reload} />}
        {entries.loading && !entries.value && <Loading what="the folder" />}
        {entries.value?.length === 0 && !entries.loading && (
          <Empty title="This folder is empty">Upload a file to put one here.</Empty>
        )}
        <ul className="files">
          {entries.value?.slice(0, SHOWN_ENTRIES).map((entry) => (
            <li key={entry.path}>
              <button
                type="button"
                className="file-name"
                onClick={() => (entry.entryType === "directory" ? open(entry.path) : setFile(entry))}
              >
                <Icon name={entry.entryType === "directory" ? "folder" : "file"} size={14} /> {entry.name}
              </button>
              <span className="muted">{entry.entryType === "file" ? bytes(entry.size) : ""}</span>
              {entry.entryType === "file" && (
                <button
                  type="button"
                  className="icon-button tiny"
                  aria-label={`Download ${entry.name}`}
                  onClick={() => download(entry)}
                >
                  <Icon name="download" size={13} />
                </button>
              )}
              <button
                type="button"
                className="icon-button tiny"
                aria-label={`Delete ${entry.name}`}
                onClick={() => remove(entry)}
              >
                <Icon name="trash" size={13} />
              </button>
            </li>
          ))}
        </ul>
        {(entries.value?.length ?? 0) > SHOWN_ENTRIES && (
          <p className="muted small-text">Only the first {SHOWN_ENTRIES} entries are shown.</p>
        )}
      </div>
    </div>
  );
}

function sorted(entries: FsEntry[]): FsEntry[] {
  return entries.sort((a, b) => a.entryType.localeCompare(b.entryType) || a.name.localeCompare(b.name));
}

function join(directory: string, name: string): string {
  return `${directory.replace(/\/$/, "")}/${name}`;
}

function parent(path: string): string {
  return path.replace(/\/[^/]*\/?$/, "") || "/";
}
