/** Where the prompts of a composer go. */

import type { Instance } from "../instance/instance";
import type { PromptQueue } from "../session/promptQueue";
import type { Draft } from "./draft";

export interface PromptTarget {
  instance: Instance;
  queue: PromptQueue;
  draft: Draft;
  /** Directory for attachments and `@file`; empty if unknown. */
  directory: string;
  /** The process is not running: prompts wait for Resume. */
  over: boolean;
  /** Ends the process, for an agent that does not react to a stop. */
  end?: () => Promise<void>;
  /** A prompt was sent or queued. */
  sent?: () => void;
}
