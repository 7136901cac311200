/** Prompts that wait for the running turn: each can be edited or removed. */

import type { PromptQueue } from "../session/promptQueue";
import { useObservable } from "../state/observable";
import { count } from "../ui/format";
import { Icon } from "../ui/Icon";
import type { Draft } from "./draft";

export function QueueList({ queue, draft, over }: { queue: PromptQueue; draft: Draft; over: boolean }) {
  const { prompts, held } = useObservable(queue.state);
  if (prompts.length === 0) return null;
  const edit = (id: string) => {
    const prompt = queue.remove(id);
    if (prompt) draft.edit(prompt.text, prompt.attachments);
  };
  return (
    <section className="queue" aria-label="Queued prompts">
      <div className="queue-head">
        <strong>{count(prompts.length, "prompt")} queued</strong>
        <span className="muted grow">
          {over
            ? "sent after Resume"
            : held
              ? "held: the turn before did not end by itself"
              : "sent when the turn ends"}
        </span>
        {held && !over && (
          <button type="button" className="button small" onClick={() => queue.goOn()}>
            Send now
          </button>
        )}
      </div>
      <ol>
        {prompts.map((prompt) => (
          <li key={prompt.id}>
            <span className="grow ellipsis">{prompt.text || prompt.attachments[0]?.name}</span>
            <button
              type="button"
              className="icon-button tiny"
              aria-label={`Edit queued prompt: ${prompt.text}`}
              onClick={() => edit(prompt.id)}
            >
              <Icon name="edit" size={13} />
            </button>
            <button
              type="button"
              className="icon-button tiny"
              aria-label={`Remove queued prompt: ${prompt.text}`}
              onClick={() => queue.remove(prompt.id)}
            >
              <Icon name="close" size={13} />
            </button>
          </li>
        ))}
      </ol>
    </section>
  );
}
