/** The entries of a directory's config: list, show and remove them; a form adds more. */

import { useCallback, useState, type ReactNode } from "react";
import type { ConfigEntry, ConfigKind } from "../api/bodies";
import { isObject } from "../json";
import { useAppState } from "../state/appState";
import { useObservable } from "../state/observable";
import { selectedDirectory } from "../state/selection";
import { useDefaultDirectory } from "../state/useDefaultDirectory";
import { ConfirmButton } from "../ui/ConfirmButton";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { pretty } from "../ui/format";
import { Icon } from "../ui/Icon";
import { useLoaded } from "../ui/hooks/useLoaded";
import { readStored, writeStored } from "../ui/hooks/useStored";
import { useTask } from "../ui/hooks/useTask";

/** Returns whether the entry was stored. */
export type SaveEntry<K extends ConfigKind> = (name: string, entry: ConfigEntry[K]) => Promise<boolean>;

interface Props<K extends ConfigKind> {
  kind: K;
  title: string;
  about: string;
  tag: (entry: ConfigEntry[K]) => string;
  /** A form that adds an entry, or changes the given one. */
  form: (save: SaveEntry<K>, edited?: { name: string; entry: ConfigEntry[K] }) => ReactNode;
  /** Shown with an open entry. */
  more?: (entry: ConfigEntry[K], directory: string) => ReactNode;
}

/** The panel starts in the directory of the open session, and again when another session is opened. */
export function ConfigPanel<K extends ConfigKind>(props: Props<K>) {
  const directory = useObservable(selectedDirectory);
  return <DirectoryConfig key={directory} {...props} start={directory} />;
}

function DirectoryConfig<K extends ConfigKind>({
  kind,
  title,
  about,
  tag,
  form,
  more,
  start,
}: Props<K> & { start: string }) {
  const { api } = useAppState();
  const [directory, setDirectory] = useState(() => start || (readStored(`${kind}-directory`) ?? ""));
  const [open, setOpen] = useState("");
  const [edited, setEdited] = useState("");
  const task = useTask();
  const entries = useLoaded(
    useCallback(async () => (directory ? api.configEntries(kind, directory) : {}), [api, kind, directory]),
  );
  const change = (next: string) => {
    setDirectory(next);
    writeStored(`${kind}-directory`, next);
  };
  useDefaultDirectory(directory, change);

  const save: SaveEntry<K> = (name, entry) =>
    task.run(async () => {
      await api.putConfig(kind, directory, name, entry);
      setEdited("");
      entries.reload();
    });
  const remove = (name: string) =>
    void task.run(() => api.deleteConfig(kind, directory, name).then(entries.reload));
  const listed = Object.entries<ConfigEntry[K]>(entries.value ?? {});
  return (
    <div className="panel">
      <div className="toolbar">
        <h2>{title}</h2>
        <input
          className="grow mono"
          value={directory}
          aria-label="Directory"
          spellCheck={false}
          onChange={(event) => change(event.target.value)}
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
      </div>
      <div className="panel-scroll">
        <p className="muted small-text">{about}</p>
        {task.error !== undefined && <ErrorBox error={task.error} />}
        {entries.error !== undefined && <ErrorBox error={entries.error} retry={entries.reload} />}
        {entries.loading && !entries.value && <Loading what="the entries" />}
        {!entries.loading && entries.error === undefined && listed.length === 0 && (
          <Empty title="Nothing configured for this directory">Add an entry below.</Empty>
        )}
        <ul className="config-list">
          {listed.map(([name, entry]) => (
            <li key={name} className="card">
              <div className="card-head">
                <button
                  type="button"
                  className="link-button grow-left"
                  aria-expanded={open === name}
                  onClick={() => setOpen(open === name ? "" : name)}
                >
                  {name}
                </button>
                <span className="pill">{tag(entry)}</span>
                <button
                  type="button"
                  className="icon-button tiny"
                  aria-label={`Edit ${name}`}
                  onClick={() => setEdited(edited === name ? "" : name)}
                >
                  <Icon name="edit" size={13} />
                </button>
                <ConfirmButton
                  label="Remove"
                  name={`Remove ${name}`}
                  question={`Remove ${name}?`}
                  disabled={task.running}
                  confirmed={() => remove(name)}
                />
              </div>
              {open === name && (
                <>
                  <pre className="json" tabIndex={0}>
                    {pretty(withoutSecrets(entry))}
                  </pre>
                  {more?.(entry, directory)}
                </>
              )}
              {edited === name && form(save, { name, entry })}
            </li>
          ))}
        </ul>
        {form(save)}
      </div>
    </div>
  );
}

/** Values of variables and headers are often keys, so only their names are shown. */
function withoutSecrets(entry: object): object {
  const masked = (value: unknown) =>
    isObject(value) ? Object.fromEntries(Object.keys(value).map((name) => [name, "•••"])) : value;
  return Object.fromEntries(
    Object.entries(entry).map(([key, value]) => [
      key,
      key === "env" || key === "headers" ? masked(value) : value,
    ]),
  );
}
