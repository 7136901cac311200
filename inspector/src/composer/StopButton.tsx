/** Stops the turn. An agent that does not react within five seconds can be ended with its process. */

import { useEffect, useState } from "react";
import type { Instance } from "../instance/instance";
import { stopTurn } from "../session/stopTurn";
import { ErrorBox } from "../ui/ErrorBox";
import { Icon } from "../ui/Icon";
import { useTask } from "../ui/hooks/useTask";

const REACTION_MS = 5000;

export function StopButton({ instance, end }: { instance: Instance; end?: () => Promise<void> }) {
  const task = useTask();
  const [asked, setAsked] = useState(false);
  const [ignored, setIgnored] = useState(false);
  useEffect(() => {
    if (!asked) return undefined;
    const timer = setTimeout(() => setIgnored(true), REACTION_MS);
    return () => clearTimeout(timer);
  }, [asked]);
  const stop = () => {
    setAsked(true);
    void task.run(() => stopTurn(instance));
  };
  return (
    <>
      {task.error !== undefined && <ErrorBox error={task.error} />}
      {ignored && end && (
        <button type="button" className="button danger" onClick={() => void task.run(end)}>
          No reaction: end the process
        </button>
      )}
      <button type="button" className="button danger" disabled={task.running} onClick={stop}>
        <Icon name="stop" size={14} /> {asked ? "Stopping…" : "Stop"}
      </button>
    </>
  );
}
