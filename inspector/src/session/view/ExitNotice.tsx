/** How a process ended: exit code or signal, and its last output on stderr. */

import { useCallback } from "react";
import type { AcpServer } from "../../api/bodies";
import { useAppState } from "../../state/appState";
import { Icon } from "../../ui/Icon";
import { useLoaded } from "../../ui/hooks/useLoaded";
import { exitText } from "./exitText";

export function ExitNotice({ server }: { server: AcpServer }) {
  const { api } = useAppState();
  const { serverId } = server;
  const { value: problem } = useLoaded(useCallback(() => api.exitProblem(serverId), [api, serverId]));
  const stderr = problem?.stderr;
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
