/** The files of the server's machine: browse, view, edit, upload, download. */

import { useEffect, useState, type FormEvent } from "react";
import type { FsEntry } from "../api/bodies";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { selectedDirectory, selectedFile } from "../state/selection";
import { useDefaultDirectory } from "../state/useDefaultDirectory";
import { ErrorBox } from "../ui/ErrorBox";
import { Icon } from "../ui/Icon";
import { saveFile } from "../ui/saveFile";
import { useTask } from "../ui/hooks/useTask";
import { FileTree } from "./FileTree";
import { FileView } from "./FileView";
import { useDirectoryWatch } from "./useDirectoryWatch";

/** The panel starts in the directory of the open session, and again when another session is opened. */
export function FilesPanel() {
  const directory = useObservable(selectedDirectory);
  const asked = useObservable(selectedFile);
  return <DirectoryFiles key={`${directory}:${asked?.request ?? 0}`} start={directory} asked={asked?.path} />;
}

function DirectoryFiles({ start, asked }: { start: string; asked?: string }) {
  const { api } = useAppState();
  const first = asked ? parent(asked) : start;
  const [directory, setDirectory] = useState(first);
  const [typed, setTyped] = useState(first);
  const [file, setFile] = useState<string | undefined>(asked);
  const [version, setVersion] = useState(0);
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const task = useTask();
  const reload = () => setVersion((before) => before + 1);

  const open = (path: string) => {
    setDirectory(path);
    setTyped(path);
    setFile(undefined);
  };
  useDefaultDirectory(typed, open);

  // A file that was asked for is closed with the next change of the session.
  useEffect(() => () => selectedFile.set(undefined), []);
  const live = useDirectoryWatch(file ? "" : directory, unfolded.size > 0, reload);

  const upload = (files: Iterable<File>) =>
    void task.run(async () => {
      for (const one of files) await api.writeFile(join(directory, one.name), one);
      reload();
    });
  const makeFolder = () => {
    const name = window.prompt("Name of the new folder");
    if (name) void task.run(() => api.makeDirectory(join(directory, name)).then(reload));
  };
  const remove = (entry: FsEntry) => {
    const what = entry.entryType === "directory" ? "this folder and everything in it" : "this file";
    if (window.confirm(`Delete ${what}?\n${entry.path}`)) {
      void task.run(() => api.deleteEntry(entry.path, entry.entryType === "directory").then(reload));
    }
  };
  const download = (entry: FsEntry) =>
    void task.run(async () => {
      if (entry.entryType === "directory")
        saveFile(`${entry.name}.tar`, await api.downloadDirectory(entry.path));
      else saveFile(entry.name, await api.readFile(entry.path));
    });
  const rename = (entry: FsEntry) => {
    const name = window.prompt("New name", entry.name);
    if (name && name !== entry.name) {
      void task.run(() => api.move(entry.path, join(parent(entry.path), name)).then(reload));
    }
  };
  const toggle = (path: string) =>
    setUnfolded((before) => {
      const next = new Set(before);
      if (!next.delete(path)) next.add(path);
      return next;
    });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    open(typed);
  };

  if (file) return <FileView key={file} path={file} close={() => setFile(undefined)} />;
  return (
    <div
      className="panel"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        upload(event.dataTransfer.files);
      }}
    >
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
        {live && (
          <span className="pill good" title="Changes appear by themselves">
            live
          </span>
        )}
        <button type="button" className="icon-button" aria-label="Refresh" title="Refresh" onClick={reload}>
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
              upload(event.target.files ?? []);
              event.target.value = "";
            }}
          />
        </label>
      </form>
      <div className="panel-scroll">
        {task.error !== undefined && <ErrorBox error={task.error} />}
        <FileTree
          key={directory}
          path={directory}
          depth={0}
          version={version}
          unfolded={unfolded}
          toggle={toggle}
          actions={{ openFolder: open, openFile: setFile, rename, download, remove }}
        />
      </div>
    </div>
  );
}

function join(directory: string, name: string): string {
  return `${directory.replace(/\/$/, "")}/${name}`;
}

function parent(path: string): string {
  return path.replace(/\/[^/]*\/?$/, "") || "/";
}
