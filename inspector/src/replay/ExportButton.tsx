/** Saves the conversation as one HTML file; what writes it is loaded with its first use. */

import type { Instance } from "../instance/instance";
import { Icon } from "../ui/Icon";
import type { Task } from "../ui/hooks/useTask";

interface Props {
  instance: Instance;
  agent: string;
  title: string;
  task: Task;
}

export function ExportButton({ instance, agent, title, task }: Props) {
  const save = async () => {
    const { exportSession } = await import("./exportSession");
    await exportSession(instance, agent, title);
  };
  return (
    <button
      type="button"
      className="icon-button"
      aria-label="Save as HTML"
      title="Save as one HTML file that replays the session"
      disabled={task.running}
      onClick={() => void task.run(save)}
    >
      <Icon name="download" />
    </button>
  );
}
