/** A button that connects to an MCP server, and what the server says. */

import { useState } from "react";
import { ApiProblem } from "../../api/problem";
import { useAppState } from "../../state/appState";
import { ErrorBox } from "../../ui/ErrorBox";
import { count } from "../../ui/format";
import { useTask } from "../../ui/hooks/useTask";
import { checkServer, type McpServerFacts } from "./checkServer";
import type { McpEntry } from "./mcpEntry";

export function McpTest({ entry, directory }: { entry: McpEntry; directory: string }) {
  const { http } = useAppState();
  const task = useTask();
  const [facts, setFacts] = useState<McpServerFacts>();
  const connect = () => {
    setFacts(undefined);
    void task.run(async () => setFacts(await checkServer(http, entry, directory)));
  };
  return (
    <div className="mcp-test">
      <button type="button" className="button small" disabled={task.running} onClick={connect}>
        {task.running ? "Connecting…" : "Test the connection"}
      </button>
      {task.error !== undefined && <ErrorBox error={explained(task.error)} />}
      {facts && (
        <p role="status" className="small-text">
          <span className="good-text">Connected</span> to {facts.name} {facts.version},{" "}
          {count(facts.tools.length, "tool")}
          {facts.tools.length > 0 && (
            <>
              : <span className="mono">{facts.tools.join(", ")}</span>
            </>
          )}
        </p>
      )}
    </div>
  );
}

/** A server without processes answers 404. */
function explained(error: unknown): unknown {
  const off = error instanceof ApiProblem && error.status === 404;
  return off
    ? new Error("The server was started with --processes off, so it starts nothing for a test.")
    : error;
}
