/** Imports a recorded conversation from a JSONL file and opens it. */

import { useAppState } from "../../state/appState";
import { go } from "../../state/route";
import { ErrorBox } from "../../ui/ErrorBox";
import { Icon } from "../../ui/Icon";
import { useTask } from "../../ui/hooks/useTask";

export function ImportButton({ imported }: { imported?: () => void }) {
  const app = useAppState();
  const task = useTask();
  const read = (file: File | undefined) => {
    if (!file) return;
    void task.run(async () => {
      const { importJsonl } = await import("./jsonl");
      const session = await importJsonl(app, file);
      go({ page: "session", id: session.id });
      imported?.();
    });
  };
  return (
    <>
      <label className="button small">
        <Icon name="upload" size={14} /> Import
        <input
          type="file"
          accept=".jsonl,.ndjson,.json,.txt"
          className="visually-hidden"
          aria-label="Import events"
          onChange={(event) => {
            read(event.target.files?.[0]);
            event.target.value = "";
          }}
        />
      </label>
      {task.error !== undefined && <ErrorBox error={task.error} />}
    </>
  );
}
