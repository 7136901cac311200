/** The header of a conversation: agent, state of the stream, options of the session. */

import { useMemo, type ReactNode } from "react";
import type { Usage } from "../fold/chat/conversation";
import type { Instance } from "../instance/instance";
import { useInstance } from "../instance/useInstance";
import { selectOptions, setOption, type SelectOption } from "../session/options";
import { agentLabel } from "../ui/agentLabel";
import { CopyButton } from "../ui/CopyButton";
import { ErrorBox } from "../ui/ErrorBox";
import { useTask } from "../ui/useTask";
import { StreamStatus } from "./StreamStatus";

interface Props {
  instance: Instance;
  agent: string;
  id: string;
  title: string;
  sessionId?: string;
  running: boolean;
  actions: ReactNode;
}

export function ChatHeader({ instance, agent, id, title, sessionId, running, actions }: Props) {
  const snapshot = useInstance(instance);
  const { agentInfo, usage, modes, configOptions } = snapshot.conversation;
  const options = useMemo(() => selectOptions({ modes, configOptions }), [modes, configOptions]);
  const task = useTask();
  const change = (option: SelectOption, value: string) =>
    void task.run(() => setOption(instance, sessionId ?? "", option, value));
  return (
    <header className="chat-head">
      <div className="chat-title">
        <h1>{title || agentLabel(agent)}</h1>
        <span className="pill">
          {agentLabel(agent)}
          {agentInfo?.version ? ` ${agentInfo.version}` : ""}
        </span>
        <span className="mono muted id-text" title={id}>
          {id.length > 20 ? id.slice(0, 8) : id}
        </span>
        <CopyButton text={sessionId ?? id} label="Copy session id" />
        <UsagePill usage={usage} />
        <span className="grow" />
        <StreamStatus snapshot={snapshot} />
        {actions}
      </div>
      {running && options.length > 0 && (
        <div className="chat-options">
          {options.map((option) => (
            <label key={option.category}>
              <span>{option.name}</span>
              <select
                aria-label={option.name}
                value={option.currentValue}
                disabled={task.running}
                onChange={(event) => change(option, event.target.value)}
              >
                {option.choices.map((choice) => (
                  <option key={choice.value} value={choice.value}>
                    {choice.name}
                  </option>
                ))}
              </select>
            </label>
          ))}
        </div>
      )}
      {task.error !== undefined && <ErrorBox error={task.error} />}
    </header>
  );
}

function UsagePill({ usage }: { usage: Usage }) {
  const parts: string[] = [];
  if (usage.used !== undefined)
    parts.push(
      `${usage.used.toLocaleString()}${usage.size ? ` / ${usage.size.toLocaleString()}` : ""} tokens`,
    );
  else if (usage.totalTokens !== undefined) parts.push(`${usage.totalTokens.toLocaleString()} tokens`);
  if (usage.cost) parts.push(usage.cost);
  return parts.length > 0 ? (
    <span className="pill" title="Context used, and cost">
      {parts.join(" · ")}
    </span>
  ) : null;
}
