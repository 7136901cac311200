/** What components see of an instance; made anew at most once per animation frame, however fast messages arrive. */

import type { StreamState } from "../api/instanceReader";
import type { Conversation } from "../fold/chat/conversation";
import type { Row } from "../fold/chat/rows";
import type { LogEntry, SessionFold } from "../fold/sessionFold";
import type { UniversalEvent } from "../fold/universal/universalEvent";
import { scheduleFrame } from "./scheduleFrame";

/** State of the event stream and of the log that it fills. */
export interface StreamFacts {
  stream: StreamState;
  reconnects: number;
  lastEventId: number;
  gaps: number;
}

export interface InstanceSnapshot extends StreamFacts {
  /** Extended in place: only the first `entryCount` belong to this snapshot. */
  entries: readonly LogEntry[];
  entryCount: number;
  /** Extended in place like `entries`; empty until `showUniversal` was called. */
  universalEvents: readonly UniversalEvent[];
  universalCount: number;
  conversation: Conversation;
  rows: readonly Row[];
  /** Index of the row of the oldest pending request, or -1. */
  pendingRow: number;
}

export class SnapshotPublisher {
  private readonly listeners = new Set<() => void>();
  private scheduled = false;
  private made: InstanceSnapshot;

  constructor(
    private readonly fold: SessionFold,
    private readonly streamFacts: () => StreamFacts,
  ) {
    this.made = this.make();
  }

  get current(): InstanceSnapshot {
    return this.made;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The fold or the stream changed: publish a snapshot with the next frame. */
  changed(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    scheduleFrame(() => {
      this.scheduled = false;
      this.fold.publish();
      const unfinished = this.fold.mapUniversal();
      this.made = this.make();
      for (const listener of this.listeners) listener();
      if (unfinished) this.changed();
    });
  }

  private make(): InstanceSnapshot {
    const { entries, universalEvents, conversation, rows, pendingRow } = this.fold;
    return {
      entries,
      entryCount: entries.length,
      universalEvents,
      universalCount: universalEvents.length,
      conversation,
      rows,
      pendingRow,
      ...this.streamFacts(),
    };
  }
}
