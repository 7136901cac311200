/** The name of a session without a title: its agent and when it was started. */

import { agentLabel } from "./agentLabel";
import { since } from "./format";

export function untitled(agent: string, createdAtMs: number): string {
  return `${agentLabel(agent)}, started ${since(createdAtMs)}`;
}
