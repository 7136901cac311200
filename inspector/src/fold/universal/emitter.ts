/** Numbers and names the events of one message at a time. Ids are counters: same messages, same ids. */

import { isObject, type Json } from "../../json";
import { legacyEventOf, type LegacyEvent } from "./meta";
import type { UniversalEvent } from "./universalEvent";

interface Draft {
  type: string;
  data: unknown;
  synthetic: boolean;
  keepRaw: boolean;
  nativeSessionId: string | null;
}

export class Emitter {
  nativeSessionId: string | null = null;
  private sequence = 0;
  private drafts: Draft[] = [];
  private readonly counters = new Map<string, number>();
  private readonly named = new Set<string>();

  constructor(
    readonly sessionId: string,
    private readonly includeRaw: boolean,
  ) {}

  emit(type: string, data: unknown, synthetic = false, keepRaw = false): void {
    this.drafts.push({ type, data, synthetic, keepRaw, nativeSessionId: this.nativeSessionId });
  }

  newId(prefix: string): string {
    const next = (this.counters.get(prefix) ?? 0) + 1;
    this.counters.set(prefix, next);
    return `${prefix}_${next}`;
  }

  finish(message: Json, time: string): UniversalEvent[] {
    const drafts = this.drafts;
    this.drafts = [];
    const legacy = drafts.length > 0 && isObject(message) ? legacyEventOf(message) : null;
    const principal = Math.max(
      0,
      drafts.findIndex((draft) => !draft.synthetic),
    );
    return drafts.map((draft, index) =>
      this.event(draft, index === principal ? legacy : null, message, time),
    );
  }

  private event(draft: Draft, legacy: LegacyEvent | null, message: Json, time: string): UniversalEvent {
    this.sequence = Math.max(this.sequence + 1, legacy?.sequence ?? 0);
    const synthetic = legacy?.synthetic ?? draft.synthetic;
    return {
      event_id: this.eventId(legacy),
      sequence: this.sequence,
      time,
      session_id: this.sessionId,
      native_session_id: legacy?.nativeSessionId ?? draft.nativeSessionId,
      synthetic,
      source: legacy?.source ?? (synthetic ? "daemon" : "agent"),
      type: draft.type,
      data: draft.data as UniversalEvent["data"],
      raw: draft.keepRaw || this.includeRaw ? message : null,
    };
  }

  private eventId(legacy: LegacyEvent | null): string {
    if (legacy?.eventId && !this.named.has(legacy.eventId)) {
      this.named.add(legacy.eventId);
      return legacy.eventId;
    }
    return `evt_${this.sessionId}_${this.sequence}`;
  }
}
