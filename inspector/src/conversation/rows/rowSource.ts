/** What rows need of the log that they show: a live instance, or a recording. */

import type { AgentRequest } from "../../fold/agentRequest";
import type { Conversation } from "../../fold/chat/conversation";
import type { JsonObject } from "../../json";

export interface RowSource {
  snapshot: () => { conversation: Conversation };
  /** Answer a request of the agent. Rejects if that is not possible. */
  answer: (request: AgentRequest, result: JsonObject) => Promise<void>;
}
