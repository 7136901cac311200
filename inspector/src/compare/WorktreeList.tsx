/** The worktrees that comparisons have left in a repository, and their removal. */

import { useCallback } from "react";
import { ConfirmButton } from "../ui/ConfirmButton";
import { ErrorBox } from "../ui/ErrorBox";
import { useLoaded } from "../ui/hooks/useLoaded";
import { useTask } from "../ui/hooks/useTask";
import type { Repository } from "./repository";

export function WorktreeList({ repository }: { repository: Repository }) {
  const left = useLoaded(useCallback(() => repository.worktrees(), [repository]));
  const task = useTask();
  if (left.error !== undefined) return <ErrorBox error={left.error} retry={left.reload} />;
  if (!left.value?.length) return null;
  const remove = (path: string) => void task.run(() => repository.remove(path)).then(left.reload);
  return (
    <section aria-label="Worktrees of comparisons">
      <h2>Worktrees of comparisons</h2>
      <ul className="compare-list">
        {left.value.map(({ path, name }) => (
          <li key={path}>
            <code title={path}>{name}</code>{" "}
            <ConfirmButton
              label="Remove"
              question="Drop its changes?"
              disabled={task.running}
              confirmed={() => remove(path)}
            />
          </li>
        ))}
      </ul>
      {task.error !== undefined && <ErrorBox error={task.error} />}
    </section>
  );
}
