/**
 * The key of an agent without credentials: sent with the start of this instance, and kept in the tab only if the
 * user asks for it.
 */

import { useEffect, useEffectEvent, useState } from "react";
import type { AgentInfo } from "../api/bodies";
import { agentLabel } from "../ui/agentLabel";

const KEY = "sandbox-agent-inspector-key:";

interface Props {
  agent: AgentInfo;
  change: (environment: Record<string, string>) => void;
}

export function KeyField({ agent, change }: Props) {
  const variables = agent.credentialVariables ?? [];
  const [variable, setVariable] = useState(() => variables.find(kept) ?? variables[0] ?? "");
  const [value, setValue] = useState(() => kept(variable) ?? "");
  const [keep, setKeep] = useState(() => kept(variable) !== undefined);
  const report = useEffectEvent(change);
  useEffect(() => {
    report(value ? { [variable]: value } : {});
    if (keep && value) sessionStorage.setItem(KEY + variable, value);
    else sessionStorage.removeItem(KEY + variable);
  }, [variable, value, keep]);
  if (variables.length === 0) {
    return (
      <p className="muted small-text">
        {agentLabel(agent.id)} reads no key from the environment: log in with its own program.
      </p>
    );
  }
  return (
    <fieldset className="key-field">
      <legend>{agentLabel(agent.id)} needs a key; the server has none</legend>
      <div className="key-row">
        <select
          aria-label="Variable"
          className="mono"
          value={variable}
          onChange={(event) => setVariable(event.target.value)}
        >
          {variables.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <input
          type="password"
          aria-label="Key"
          autoComplete="off"
          value={value}
          placeholder="Key, for this session only"
          onChange={(event) => setValue(event.target.value)}
        />
      </div>
      <label className="check small-text">
        <input type="checkbox" checked={keep} onChange={(event) => setKeep(event.target.checked)} />
        Keep it until this tab closes
      </label>
    </fieldset>
  );
}

function kept(variable: string): string | undefined {
  return sessionStorage.getItem(KEY + variable) ?? undefined;
}
