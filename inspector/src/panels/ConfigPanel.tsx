/** Entries of a directory's config: listed, shown, removed; a form adds more. */

import { useEffect, useState, type ReactNode } from "react";
import type { ConfigKind } from "../api/server";
import type { JsonObject } from "../json";
import { focusDirectory } from "../session/focus";
import { useObservable } from "../session/observable";
import { useHomeWhenEmpty } from "../session/useHomeWhenEmpty";
import { useWorkbench } from "../session/workbench";
import { Empty, Loading } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";
import { pretty } from "../ui/format";
import { Icon } from "../ui/Icon";
import { useLoaded } from "../ui/useLoaded";
import { useStored } from "../ui/useStored";
import { useTask } from "../ui/useTask";

interface Props {
  kind: ConfigKind;
  title: string;
  about: string;
  tag(entry: JsonObject): string;
  form(save: (name: string, entry: JsonObject) => Promise<boolean>): ReactNode;
}

export function ConfigPanel({ kind, title, about, tag, form }: Props) {
  const workbench = useWorkbench();
  const [directory, setDirectory] = useStored(`${kind}-directory`, "");
  const session = useObservable(focusDirectory);
  const [open, setOpen] = useState("");
  const task = useTask();
  const entries = useLoaded(
    async () => (directory ? workbench.api.configEntries(kind, directory) : {}),
    [directory],
  );
  useEffect(() => {
    if (session) setDirectory(session);
  }, [session]);
  useHomeWhenEmpty(session || directory, setDirectory);

  const save = (name: string, entry: JsonObject) =>
    task.run(() => workbench.api.putConfig(kind, directory, name, entry).then(entries.reload));
  const remove = (name: string) =>
    void task.run(() => workbench.api.deleteConfig(kind, directory, name).then(entries.reload));
  const listed = Object.entries<JsonObject>(entries.value ?? {});
  return (
    <div className="panel">
      <div className="toolbar">
        <h2>{title}</h2>
        <input
          className="grow mono"
          value={directory}
          aria-label="Directory"
          spellCheck={false}
          onChange={(event) => setDirectory(event.target.value)}
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
                  aria-label={`Remove ${name}`}
                  disabled={task.running}
                  onClick={() => remove(name)}
                >
                  <Icon name="trash" size={13} />
                </button>
              </div>
              {open === name && (
                <pre className="json" tabIndex={0}>
                  {pretty(entry)}
                </pre>
              )}
            </li>
          ))}
        </ul>
        {form(save)}
      </div>
    </div>
  );
}
