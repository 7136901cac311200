/** What can be done with an earlier prompt of a session. */

import type { Item, MessageItem } from "../fold/chat/conversation";
import type { OpenSession } from "../session/openSession";

export class PromptActions {
  constructor(private readonly open: OpenSession) {}

  /** Put the text of a prompt into the composer. */
  edit(item: MessageItem): void {
    this.open.draft.edit(item.text);
  }

  /** Send the prompt of a turn again, with its attachments. */
  retry(end: Item): void {
    const { items } = this.open.instance.snapshot().conversation;
    const prompt = items
      .slice(0, Number(end.key))
      .findLast((item) => item.kind === "message" && item.role === "user") as MessageItem | undefined;
    if (!prompt) return;
    this.open.queue.add({ text: prompt.text, attachments: [], blocks: prompt.attachments });
    this.open.queue.goOn();
  }
}
