/** What the browser remembers about a session. The server keeps none of this. */

import type { JsonObject } from "../json";

export interface SessionRecord {
  id: string;
  origin: string;
  agent: string;
  serverId: string;
  /** The agent's own id of the session. */
  agentSessionId?: string;
  title: string;
  cwd: string;
  model?: string;
  mode?: string;
  mcpServers: JsonObject[];
  createdAt: number;
  lastActiveAt: number;
  archived: boolean;
  imported?: boolean;
  /** The agent forgot the conversation: it gets it with the next prompt. */
  forgotten?: boolean;
  /** Lives of the server instance, oldest first; see `logKey`. */
  logs: string[];
}
