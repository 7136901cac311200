/** Why there is no list of processes: switched off, or an error. */

import { ApiProblem } from "../api/problem";
import { Empty } from "../ui/Empty";
import { ErrorBox } from "../ui/ErrorBox";

export function ProcessesProblem({ error, retry }: { error: unknown; retry: () => void }) {
  if (error instanceof ApiProblem && error.status === 404) {
    return (
      <Empty title="Processes are switched off">
        The server was started with <code>--processes off</code>, so it runs no commands and no terminals.
      </Empty>
    );
  }
  return <ErrorBox error={error} retry={retry} />;
}
