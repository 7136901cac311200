/** Why a process ended: exit code or signal, and the last lines it wrote to stderr. */

import type { ServerInfo } from "../api/server";
import { Icon } from "../ui/Icon";
import { useLoaded } from "../ui/useLoaded";
import { exitText } from "./Sidebar";
import { useWorkbench } from "./workbench";

export function ExitNotice({ server }: { server: ServerInfo }) {
  const workbench = useWorkbench();
  const facts = useLoaded(
    () => workbench.api.exitFacts(server.serverId),
    [server.serverId, server.createdAtMs, server.status],
  );
  const stderr = facts.value?.stderr;
  return (
    <div className="exit-notice" role="status">
      <Icon name="warning" />
      <div className="grow">
        <strong>The agent's process ended: {exitText(server)}</strong>
        {stderr ? (
          <pre className="stderr" tabIndex={0} aria-label="Last output on stderr">
            {stderr}
          </pre>
        ) : (
          <p className="muted">It wrote nothing to stderr.</p>
        )}
      </div>
    </div>
  );
}
