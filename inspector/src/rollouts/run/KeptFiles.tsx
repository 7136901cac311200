/** The files that a run has kept: the patch is shown, all can be saved. */

import { useCallback } from "react";
import { PatchView } from "../../changes/PatchView";
import { Loading } from "../../ui/Empty";
import { ErrorBox } from "../../ui/ErrorBox";
import { Icon } from "../../ui/Icon";
import { saveFile } from "../../ui/saveFile";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { useTask } from "../../ui/hooks/useTask";
import { splitPatch } from "./splitPatch";
import type { RolloutsApi } from "../rolloutsApi";
import type { RunDetails } from "../run";

const PATCH = "patch.diff";

export function KeptFiles({ api, run }: { api: RolloutsApi; run: RunDetails }) {
  const task = useTask();
  if (run.files.length === 0) return null;
  const save = (name: string) =>
    void task.run(async () => saveFile(name.split("/").at(-1)!, await api.fileBlob(run.id, name)));
  return (
    <>
      {run.files.includes(PATCH) && <Patch api={api} id={run.id} />}
      <details className="run-part">
        <summary>
          Files <span className="muted">{run.files.length}</span>
        </summary>
        {task.error !== undefined && <ErrorBox error={task.error} />}
        {run.files.map((name) => (
          <button key={name} type="button" className="link-button mono" onClick={() => save(name)}>
            <Icon name="download" size={12} /> {name}
          </button>
        ))}
      </details>
    </>
  );
}

function Patch({ api, id }: { api: RolloutsApi; id: string }) {
  const { value, error } = useLoaded(useCallback(() => api.fileText(id, PATCH), [api, id]));
  const files = splitPatch(value ?? "");
  return (
    <details className="run-part">
      <summary>
        Patch <span className="muted">{value === undefined ? "" : files.length}</span>
      </summary>
      {error !== undefined && <ErrorBox error={error} />}
      {value === undefined && error === undefined && <Loading what="the patch" />}
      {files.map(({ path, patch }) => (
        <div key={path}>
          <h3 className="mono">{path}</h3>
          <PatchView path={path} patch={patch} columns="unified" />
        </div>
      ))}
    </details>
  );
}
