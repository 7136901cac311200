/** A session as the browser stores it. The server keeps none of this. */

import type { McpServer } from "@agentclientprotocol/sdk";

export interface SessionRecord {
  id: string;
  origin: string;
  agent: string;
  serverId: string;
  /** The agent's own id of the session. */
  agentSessionId?: string;
  title: string;
  /** The user gave the title: the agent's titles do not replace it. */
  renamed?: boolean;
  cwd: string;
  mcpServers: McpServer[];
  /** Where its skills are installed, below `cwd`; absent if it has none. */
  skills?: string;
  createdAt: number;
  lastActiveAt: number;
  archived: boolean;
  imported?: boolean;
  /** The agent lost the conversation: the next prompt carries it. */
  forgotten?: boolean;
  /** Keys of the logs of the runs of the server instance, oldest first; see `logKey`. */
  logs: string[];
}
