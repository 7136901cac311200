/** The files of the server's machine: walk, view, edit, upload, download. */

import { useEffect, useState, type FormEvent } from "react";
import type { FsEntry } from "../api/server";
import { focusDirectory } from "../session/focus";
import { useObservable } from "../session/observable";
import { useHomeWhenEmpty } from "../session/useHomeWhenEmpty";
import { useWorkbench } from "../session/workbench";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { bytes } from "../ui/format";
import { Icon } from "../ui/Icon";
import { useLoaded } from "../ui/useLoaded";
import { useTask } from "../ui/useTask";
import { FileView } from "./FileView";
import { saveFile } from "./jsonl";

export function FilesPanel() {
  const workbench = useWorkbench();
  const start = useObservable(focusDirectory);
  const [directory, setDirectory] = useState(start);
  const [typed, setTyped] = useState(start);
  const [file, setFile] = useState<FsEntry | undefined>();
  const task = useTask();
  const entries = useLoaded(
    async () => (directory ? sorted(await workbench.api.entries(directory)) : []),
    [directory],
  );

  const open = (path: string) => {
    setDirectory(path);
    setTyped(path);
    setFile(undefined);
  };
  useEffect(() => {
    if (start) open(start);
  }, [start]);
  useHomeWhenEmpty(start || typed, open);

  const upload = (files: FileList | null) =>
    void task.run(async () => {
      for (const one of files ?? []) await workbench.api.writeFile(join(directory, one.name), one);
      entries.reload();
    });
  const makeFolder = () => {
    const name = window.prompt("Name of the new folder");
    if (name) void task.run(() => workbench.api.makeDirectory(join(directory, name)).then(entries.reload));
  };
  const remove = (entry: FsEntry) => {
    const what = entry.entryType === "directory" ? "this folder and everything in it" : "this file";
    if (window.confirm(`Delete ${what}?\n${entry.path}`)) {
      void task.run(() =>
        workbench.api.deleteEntry(entry.path, entry.entryType === "directory").then(entries.reload),
      );
    }
  };
  const download = (entry: FsEntry) =>
    void task.run(async () => saveFile(entry.name, await workbench.api.readFile(entry.path)));
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
          {entries.value?.slice(0, SHOWN).map((entry) => (
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
        {(entries.value?.length ?? 0) > SHOWN && (
          <p className="muted small-text">Only the first {SHOWN} entries are shown.</p>
        )}
      </div>
    </div>
  );
}

const SHOWN = 200;

function sorted(entries: FsEntry[]): FsEntry[] {
  return entries.sort((a, b) => a.entryType.localeCompare(b.entryType) || a.name.localeCompare(b.name));
}

function join(directory: string, name: string): string {
  return `${directory.replace(/\/$/, "")}/${name}`;
}

function parent(path: string): string {
  return path.replace(/\/[^/]*\/?$/, "") || "/";
}
