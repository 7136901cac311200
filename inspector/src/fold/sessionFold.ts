/**
 * The one fold over the messages of a session's log. Every message is read once; the chat with its rows and
 * pending requests, and the universal events, are kept up to date from that reading. Nothing here depends
 * on React: components only show the results.
 */

import type { Json } from "../json";
import type { RequestIds } from "./answerMeta";
import { EMPTY_CONVERSATION, type Conversation } from "./chat/conversation";
import { ConversationFold } from "./chat/conversationFold";
import { RowBuilder, type Row } from "./chat/rows";
import type { LoggedMessage } from "./message";
import { MessageReader, type Reading } from "./messageReader";
import type { UniversalMapper } from "./universal/mapper";
import type { UniversalEvent } from "./universal/universalEvent";

export interface LogEntry extends LoggedMessage {
  reading: Reading;
}

/** Entries mapped per frame, about 12 ms of work, so that a long log does not block the page. */
const MAPPED_ENTRIES = 2_000;

export class SessionFold {
  conversation: Conversation = EMPTY_CONVERSATION;
  rows: readonly Row[] = [];
  /** Index of the row of the oldest pending request, or -1. */
  pendingRow = -1;
  /** Extended in place, as is `universalEvents`; read them together with their length. */
  readonly entries: LogEntry[] = [];
  readonly universalEvents: UniversalEvent[] = [];
  private readonly reader = new MessageReader();
  private readonly chat = new ConversationFold();
  private readonly rowBuilder = new RowBuilder();
  private changed = false;
  private mapper: UniversalMapper | undefined;
  private mappedEntries = 0;

  add(message: LoggedMessage): Reading {
    const reading = this.reader.read(message);
    this.entries.push({ ...message, reading });
    this.chat.add(message, reading);
    this.changed = true;
    return reading;
  }

  /** The process of the log is over: end what is open. */
  endRun(): void {
    this.chat.endRun();
    this.changed = true;
  }

  isOpenTurn(requestId: Json): boolean {
    return this.chat.isOpenTurn(requestId);
  }

  /** Make the results of all messages added so far visible; called once per animation frame. */
  publish(): void {
    if (!this.changed) return;
    this.changed = false;
    const { conversation, firstChanged } = this.chat.publish();
    this.conversation = conversation;
    this.rows = this.rowBuilder.build(conversation.items, firstChanged);
    const [pending] = conversation.pendingRequests;
    this.pendingRow = pending ? this.rowBuilder.rowOf(pending) : -1;
  }

  /** Derive universal events too, from the first entry on. The mapper is large and loaded when it is needed. */
  attachMapper(mapper: UniversalMapper): void {
    this.mapper ??= mapper;
  }

  /** The ids that the universal events of all messages so far give to a request of the agent. */
  requestIds(requestId: Json): RequestIds {
    for (let unfinished = true; unfinished;) unfinished = this.mapUniversal();
    return this.mapper?.requestIds(requestId) ?? { permission: undefined, questions: [] };
  }

  /** Map the next entries; returns whether there are more. */
  mapUniversal(): boolean {
    if (!this.mapper) return false;
    const end = Math.min(this.entries.length, this.mappedEntries + MAPPED_ENTRIES);
    for (; this.mappedEntries < end; this.mappedEntries += 1) {
      const { reading, time } = this.entries[this.mappedEntries]!;
      this.universalEvents.push(...this.mapper.add(reading, new Date(time).toISOString()));
    }
    return end < this.entries.length;
  }
}
