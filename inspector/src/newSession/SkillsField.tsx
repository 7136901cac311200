/** Whether the session gets the skills that are configured for its directory. */

import type { AgentInfo } from "../api/bodies";
import { agentLabel } from "../ui/agentLabel";

interface Props {
  names: readonly string[];
  /** Absent while the agent is loaded. */
  agent: AgentInfo | undefined;
  checked: boolean;
  change: (checked: boolean) => void;
}

export function SkillsField({ names, agent, checked, change }: Props) {
  if (agent && agent.skillsDirectory === undefined) {
    return (
      <p className="muted">
        The skills of this directory are left out: no place where {agentLabel(agent.id)} looks for skills is
        known.
      </p>
    );
  }
  return (
    <label className="check">
      <input type="checkbox" checked={checked} onChange={(event) => change(event.target.checked)} />
      Give it the skills of this directory: {names.join(", ")}
    </label>
  );
}
