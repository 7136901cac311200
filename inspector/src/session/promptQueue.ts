/**
 * Prompts of a session that wait for the turn before them. They are sent one by one when a turn ends by itself;
 * after a stop, an error or the end of the process they are held until the user goes on. The queue belongs to
 * the tab, so that two tabs never send the same prompt; it survives a reload.
 */

import type { ContentBlock, PromptResponse } from "@agentclientprotocol/sdk";
import type { Attachment } from "../composer/attachments";
import { Observable } from "../state/observable";

export interface QueuedPrompt {
  id: string;
  text: string;
  attachments: readonly Attachment[];
  /** Blocks of an older prompt that is sent again. */
  blocks?: ContentBlock[];
}

export interface QueueState {
  prompts: readonly QueuedPrompt[];
  /** The last turn did not end by itself: the next prompt is sent when the user asks for it. */
  held: boolean;
}

const KEY = "sandbox-agent-inspector-queue:";

export class PromptQueue {
  readonly state: Observable<QueueState>;
  /** A prompt was sent and neither its turn nor its failure has been seen. */
  private sending = false;
  private ready = false;

  constructor(
    private readonly id: string,
    private readonly post: (prompt: QueuedPrompt) => Promise<PromptResponse>,
  ) {
    this.state = new Observable<QueueState>({ prompts: restored(id), held: false });
  }

  get busy(): boolean {
    return this.sending || !this.ready;
  }

  /** Send a prompt, at once if the agent is idle and nothing is queued before it. */
  add(prompt: Omit<QueuedPrompt, "id">): void {
    const added = { ...prompt, id: crypto.randomUUID() };
    this.change({ ...this.state.get(), prompts: [...this.state.get().prompts, added] });
    this.sendNext();
  }

  /** Take a prompt out, to edit it or to drop it. */
  remove(id: string): QueuedPrompt | undefined {
    const { prompts, held } = this.state.get();
    const found = prompts.find((one) => one.id === id);
    const rest = prompts.filter((one) => one !== found);
    this.change({ prompts: rest, held: held && rest.length > 0 });
    return found;
  }

  /** Send the held prompts after all. */
  goOn(): void {
    this.change({ ...this.state.get(), held: false });
    this.sendNext();
  }

  /** The state of the session changed; `stop` says how a turn ended, if one just did. */
  proceed(ready: boolean, stop: string | undefined): void {
    this.ready = ready;
    const { prompts } = this.state.get();
    if (stop !== undefined && stop !== "end_turn" && prompts.length > 0) {
      this.change({ prompts, held: true });
    }
    this.sendNext();
  }

  private sendNext(): void {
    const { prompts, held } = this.state.get();
    const [next, ...rest] = prompts;
    if (!next || held || this.busy) return;
    this.sending = true;
    this.change({ prompts: rest, held: false });
    // The conversation shows how the turn ends, and why a prompt was refused.
    void this.post(next).then(
      ({ stopReason }) => this.settled(stopReason),
      () => this.settled("error"),
    );
  }

  private settled(stop: string): void {
    this.sending = false;
    this.proceed(this.ready, stop);
  }

  private change(state: QueueState): void {
    this.state.set(state);
    store(this.id, state.prompts);
  }
}

function restored(sessionId: string): QueuedPrompt[] {
  try {
    return JSON.parse(sessionStorage.getItem(KEY + sessionId) ?? "[]") as QueuedPrompt[];
  } catch {
    return [];
  }
}

function store(sessionId: string, prompts: readonly QueuedPrompt[]): void {
  try {
    if (prompts.length > 0) sessionStorage.setItem(KEY + sessionId, JSON.stringify(prompts));
    else sessionStorage.removeItem(KEY + sessionId);
  } catch {
    // Storage is full or refused: the queue lasts until the tab is reloaded.
  }
}
