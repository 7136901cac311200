/** The MCP servers of a directory, which new sessions in it may use. */

import { ConfigPanel } from "../ConfigPanel";
import { McpForm } from "./McpForm";
import { McpTest } from "./McpTest";

export function McpPanel() {
  return (
    <ConfigPanel
      kind="mcp"
      title="MCP"
      about="MCP servers of this directory. A new session here is offered them; running ones keep what they have."
      tag={(entry) => (entry.type === "remote" ? (entry.transport ?? "http") : "local")}
      form={(save, edited) => <McpForm save={save} edited={edited} />}
      more={(entry, directory) => <McpTest entry={entry} directory={directory} />}
    />
  );
}
