/** The entries of a folder; folders in it unfold in place. */

import { useCallback, useEffect, useRef, useState } from "react";
import type { FsEntry } from "../api/bodies";
import { useAppState } from "../state/appState";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { bytes } from "../ui/format";
import { Icon } from "../ui/Icon";
import { useLoaded } from "../ui/hooks/useLoaded";

/** Entries are added in steps of this. */
const SHOWN_ENTRIES = 200;

interface TreeActions {
  openFolder: (path: string) => void;
  openFile: (path: string) => void;
  rename: (entry: FsEntry) => void;
  download: (entry: FsEntry) => void;
  remove: (entry: FsEntry) => void;
}

interface Props {
  path: string;
  depth: number;
  /** Another number reads the folder again. */
  version: number;
  unfolded: ReadonlySet<string>;
  toggle: (path: string) => void;
  actions: TreeActions;
}

export function FileTree({ path, depth, version, unfolded, toggle, actions }: Props) {
  const { api } = useAppState();
  const [limit, setLimit] = useState(SHOWN_ENTRIES);
  /** Only the first load was asked for by the user; others stay out of the list of requests. */
  const loaded = useRef(false);
  const entries = useLoaded(
    useCallback(async () => {
      const again = loaded.current;
      loaded.current = true;
      return path ? sorted(await api.entries(path, again)) : [];
    }, [api, path]),
  );
  const { reload } = entries;
  const known = useRef(version);
  useEffect(() => {
    if (known.current !== version) reload();
    known.current = version;
  }, [version, reload]);
  const listed = entries.value ?? [];
  return (
    <>
      {entries.error !== undefined && <ErrorBox error={entries.error} retry={reload} />}
      {entries.loading && !entries.value && entries.error === undefined && <Loading what="the folder" />}
      {entries.value?.length === 0 && !entries.loading && depth === 0 && (
        <Empty title="This folder is empty">Upload a file to put one here.</Empty>
      )}
      {entries.value?.length === 0 && depth > 0 && <p className="muted small-text">empty</p>}
      <ul className="files">
        {listed.slice(0, limit).map((entry) => (
          <li key={entry.path}>
            <EntryRow entry={entry} open={unfolded.has(entry.path)} toggle={toggle} actions={actions} />
            {unfolded.has(entry.path) && (
              <div className="files-inside">
                <FileTree
                  path={entry.path}
                  depth={depth + 1}
                  version={version}
                  unfolded={unfolded}
                  toggle={toggle}
                  actions={actions}
                />
              </div>
            )}
          </li>
        ))}
      </ul>
      {listed.length > limit && (
        <button type="button" className="link-button" onClick={() => setLimit(limit + SHOWN_ENTRIES)}>
          {listed.length - limit} more entries
        </button>
      )}
    </>
  );
}

interface RowProps {
  entry: FsEntry;
  open: boolean;
  toggle: (path: string) => void;
  actions: TreeActions;
}

function EntryRow({ entry, open, toggle, actions }: RowProps) {
  const folder = entry.entryType === "directory";
  const { name, path } = entry;
  return (
    <div className="file-row">
      {folder ? (
        <button
          type="button"
          className={open ? "icon-button tiny turned" : "icon-button tiny"}
          aria-label={`Unfold ${name}`}
          aria-expanded={open}
          onClick={() => toggle(path)}
        >
          <Icon name="chevron" size={12} />
        </button>
      ) : (
        <span className="file-space" />
      )}
      <button
        type="button"
        className="file-name"
        onClick={() => (folder ? actions.openFolder(path) : actions.openFile(path))}
      >
        <Icon name={folder ? "folder" : "file"} size={14} /> {name}
      </button>
      <span className="muted">{entry.entryType === "file" ? bytes(entry.size) : ""}</span>
      <button
        type="button"
        className="icon-button tiny"
        aria-label={`Rename ${name}`}
        title="Rename"
        onClick={() => actions.rename(entry)}
      >
        <Icon name="edit" size={13} />
      </button>
      <button
        type="button"
        className="icon-button tiny"
        aria-label={`Download ${name}`}
        title={folder ? "Download as tar" : "Download"}
        onClick={() => actions.download(entry)}
      >
        <Icon name="download" size={13} />
      </button>
      <button
        type="button"
        className="icon-button tiny"
        aria-label={`Delete ${name}`}
        onClick={() => actions.remove(entry)}
      >
        <Icon name="trash" size={13} />
      </button>
    </div>
  );
}

function sorted(entries: FsEntry[]): FsEntry[] {
  return entries.sort((a, b) => a.entryType.localeCompare(b.entryType) || a.name.localeCompare(b.name));
}
