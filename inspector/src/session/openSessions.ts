/**
 * The sessions of this browser that are open in this tab: the one on the screen, and those whose process lives,
 * so that the page knows what each of them does and which of them wait for the user. Their streams share one
 * connection, because a browser opens six to one host for all tabs together.
 */

import type { RequestItem } from "../fold/chat/conversation";
import type { Instance } from "../instance/instance";
import { scheduleFrame } from "../instance/scheduleFrame";
import type { AppState } from "../state/appState";
import { Observable } from "../state/observable";
import type { SessionRecord } from "../storage/sessionRecord";
import { liveServer, loadInstance } from "./lifecycle";
import { OpenSession } from "./openSession";
import { phaseOf, type Phase } from "./sessionMachine";

/** A long conversation takes about 25 MB, so the number is bounded. */
const MAX_OPEN = 30;

/** A request of an agent that waits for the user. */
export interface WaitingRequest {
  open: OpenSession;
  item: RequestItem;
}

export class OpenSessions {
  /** What each open session does, by session id. */
  readonly phases = new Observable<ReadonlyMap<string, Phase>>(new Map());
  /** Requests of all sessions, oldest first. */
  readonly waiting = new Observable<readonly WaitingRequest[]>([]);
  private readonly opened = new Map<string, Promise<OpenSession>>();
  private readonly ready = new Map<string, OpenSession>();
  private readonly unsubscribe: (() => void)[];
  private catchingUp = false;
  private shown: string | undefined;
  private scheduled = false;

  constructor(private readonly app: AppState) {
    this.unsubscribe = [
      app.servers.state.subscribe(() => void this.lookAtAll()),
      app.sessions.sessions.subscribe(() => this.recordsChanged()),
    ];
  }

  /** The open session, loaded from the history if it is not open yet. */
  get(session: SessionRecord): Promise<OpenSession> {
    const known = this.opened.get(session.id);
    if (known) return known;
    const opening = loadInstance(this.app, session).then((instance) => this.add(session, instance));
    this.opened.set(session.id, opening);
    opening.catch(() => this.opened.delete(session.id));
    return opening;
  }

  /** Take over the instance of a session that was just created. */
  adopt(session: SessionRecord, instance: Instance): void {
    this.opened.set(session.id, Promise.resolve(this.add(session, instance)));
  }

  /** The session is on the screen; the one before it goes to the background. */
  show(open: OpenSession): void {
    if (this.shown !== undefined && this.shown !== open.id) this.ready.get(this.shown)?.hide();
    this.shown = open.id;
    open.show();
  }

  hide(open: OpenSession): void {
    if (this.shown !== open.id) return;
    this.shown = undefined;
    open.hide();
  }

  drop(id: string): void {
    this.ready.get(id)?.close();
    this.ready.delete(id);
    this.opened.delete(id);
    this.publish();
  }

  close(): void {
    for (const stop of this.unsubscribe) stop();
    for (const id of [...this.ready.keys()]) this.drop(id);
  }

  private add(session: SessionRecord, instance: Instance): OpenSession {
    const open = new OpenSession(this.app, session, instance);
    this.ready.set(session.id, open);
    open.state.subscribe(() => this.changed());
    instance.subscribe(() => this.changed());
    this.changed();
    this.closeUnused();
    return open;
  }

  private closeUnused(): void {
    for (const [id, open] of this.ready) {
      if (this.ready.size <= MAX_OPEN) return;
      const phase = phaseOf(open.state.get());
      if (id !== this.shown && (phase === "idle" || phase === "ended")) this.drop(id);
    }
  }

  private recordsChanged(): void {
    for (const session of this.app.sessions.sessions.get() ?? []) this.ready.get(session.id)?.update(session);
  }

  /** Follow the sessions whose process lives, or read what they did. */
  private async lookAtAll(): Promise<void> {
    const list = this.app.servers.state.get();
    const sessions = this.app.sessions.sessions.get() ?? [];
    if (this.catchingUp || list.problem || !list.loaded) return;
    this.catchingUp = true;
    try {
      const living = sessions.slice(0, MAX_OPEN).flatMap((session) => {
        const server = session.imported ? undefined : liveServer(session, list.servers);
        return server && server.status !== "exited" ? [{ session, server }] : [];
      });
      const opened = await Promise.all(living.map(({ session }) => this.get(session)));
      for (const [at, { server }] of living.entries()) await opened[at]!.catchUp(server);
    } finally {
      this.catchingUp = false;
    }
  }

  /** Many sessions change in one frame. */
  private changed(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    scheduleFrame(() => {
      this.scheduled = false;
      this.publish();
    });
  }

  private publish(): void {
    const phases = new Map([...this.ready].map(([id, open]) => [id, phaseOf(open.state.get())]));
    const before = this.phases.get();
    const changed = [...phases].some(([id, phase]) => before.get(id) !== phase);
    if (changed || before.size !== phases.size) this.phases.set(phases);
    const waiting = [...this.ready.values()].flatMap(requestsOf).sort((a, b) => a.item.time - b.item.time);
    const old = this.waiting.get();
    const same = old.length === waiting.length && old.every((one, at) => one.item === waiting[at]?.item);
    if (!same) this.waiting.set(waiting);
  }
}

function requestsOf(open: OpenSession): WaitingRequest[] {
  if (phaseOf(open.state.get()) !== "waiting") return [];
  return open.instance.snapshot().conversation.pendingRequests.map((item) => ({ open, item }));
}
