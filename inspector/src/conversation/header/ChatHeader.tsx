/** The header of a conversation: agent, state of the stream, options of the session. */

import { useMemo, type ReactNode } from "react";
import type { Instance } from "../../instance/instance";
import { useInstance } from "../../instance/useInstance";
import { ExportButton } from "../../replay/ExportButton";
import { selectOptions, setOption, type SelectOption } from "../../session/options";
import { agentLabel } from "../../ui/agentLabel";
import { CopyButton } from "../../ui/CopyButton";
import { ErrorBox } from "../../ui/ErrorBox";
import { useTask } from "../../ui/hooks/useTask";
import { ElapsedPill } from "./ElapsedPill";
import { StreamStatus } from "./StreamStatus";
import { TitleField } from "./TitleField";
import { UsagePill } from "./UsagePill";

interface Props {
  instance: Instance;
  agent: string;
  id: string;
  title: string;
  sessionId?: string;
  running: boolean;
  /** The process is over, which the connection to the server does not tell. */
  ended?: boolean;
  rename?: (name: string) => void;
  actions: ReactNode;
}

export function ChatHeader({
  instance,
  agent,
  id,
  title,
  sessionId,
  running,
  ended,
  rename,
  actions,
}: Props) {
  const snapshot = useInstance(instance);
  const { agentInfo, usage, turns, modes, configOptions } = snapshot.conversation;
  const options = useMemo(() => selectOptions({ modes, configOptions }), [modes, configOptions]);
  const task = useTask();
  const change = (option: SelectOption, value: string) =>
    void task.run(() => setOption(instance, sessionId ?? "", option, value));
  return (
    <header className="chat-head">
      <div className="chat-title">
        <TitleField title={title || agentLabel(agent)} rename={rename} />
        <span className="pill">
          {agentLabel(agent)}
          {agentInfo?.version ? ` ${agentInfo.version}` : ""}
        </span>
        <span className="mono muted id-text" title={id}>
          {id.length > 20 ? id.slice(0, 8) : id}
        </span>
        <CopyButton text={sessionId ?? id} label="Copy session id" />
        <div className="chat-actions">
          <StreamStatus snapshot={snapshot} ended={ended} />
          <ExportButton instance={instance} agent={agent} title={title || agentLabel(agent)} task={task} />
          {actions}
        </div>
      </div>
      <div className="chat-options">
        {running &&
          options.map((option) => (
            <label key={option.category} title={option.name}>
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
        <span className="chat-figures">
          <ElapsedPill turns={turns} />
          <UsagePill usage={usage} />
        </span>
      </div>
      {task.error !== undefined && <ErrorBox error={task.error} />}
    </header>
  );
}
