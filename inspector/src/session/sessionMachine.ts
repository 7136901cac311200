/**
 * The states of a session as a pure reducer. `run` is what the server said about the process and changes by
 * facts of the server only: a failed call never ends a session. docs/inspector.md draws the machine.
 */

import type { StreamState } from "../api/instanceReader";

/** `gone`: the server does not list the run, or answers 404. */
type Run = "unknown" | "starting" | "running" | "exited" | "gone";

export interface SessionState {
  run: Run;
  /** The log has the exit of the process and no start after it. */
  exitInLog: boolean;
  /** The last poll of the server's list failed. */
  listLost: boolean;
  stream: StreamState;
  /** A prompt was sent and its turn is not over. */
  turnOpen: boolean;
  /** Requests of the agent that wait for the user. */
  waiting: number;
  /** What the user asked the page to do and the server has not confirmed. */
  action: "none" | "resuming" | "ending";
  /** Time of the last fact that a list asked for earlier cannot contradict. */
  since: number;
}

export type SessionEvent =
  | { type: "listed"; status: "starting" | "running" | "exited" | undefined; askedAt: number }
  | { type: "list-failed" }
  | { type: "stream"; state: StreamState }
  | { type: "conversation"; turnOpen: boolean; waiting: number; exited: boolean }
  | { type: "resuming" }
  | { type: "resumed"; at: number }
  | { type: "ending" }
  | { type: "ended"; at: number }
  | { type: "action-failed" };

export const NEW_SESSION: SessionState = {
  run: "unknown",
  exitInLog: false,
  listLost: false,
  stream: "closed",
  turnOpen: false,
  waiting: 0,
  action: "none",
  since: 0,
};

export function reduceSession(state: SessionState, event: SessionEvent): SessionState {
  switch (event.type) {
    case "listed":
      return listed({ ...state, listLost: false }, event.status, event.askedAt);
    case "list-failed":
      return { ...state, listLost: true };
    case "stream":
      return event.state === "gone" && state.action !== "resuming"
        ? over({ ...state, stream: event.state }, "gone")
        : { ...state, stream: event.state };
    case "conversation":
      return conversation(state, event);
    case "resuming":
      return isOver(state) && state.action === "none" ? { ...state, action: "resuming" } : state;
    case "resumed":
      return { ...state, action: "none", run: "running", exitInLog: false, since: event.at };
    case "ending":
      return state.action === "none" ? { ...state, action: "ending" } : state;
    case "ended":
      return { ...over(state, "gone"), action: "none", since: event.at };
    case "action-failed":
      return { ...state, action: "none" };
  }
}

function listed(state: SessionState, status: Run | undefined, askedAt: number): SessionState {
  // A list that was asked for before the session was resumed or ended says nothing about it now.
  if (askedAt < state.since || state.action === "resuming") return state;
  const run = status ?? "gone";
  if (run === "gone" || run === "exited") return over(state, run);
  return state.exitInLog ? state : { ...state, run };
}

function conversation(
  state: SessionState,
  event: Extract<SessionEvent, { type: "conversation" }>,
): SessionState {
  const { turnOpen, waiting, exited } = event;
  const next = { ...state, exitInLog: exited };
  if (exited && state.run !== "gone" && state.action !== "resuming") return over(next, "exited");
  return isOver(next) ? next : { ...next, turnOpen, waiting };
}

/** No turn and no request outlives its process. */
function over(state: SessionState, run: "exited" | "gone"): SessionState {
  return { ...state, run, turnOpen: false, waiting: 0 };
}

export function isOver(state: SessionState): boolean {
  return state.run === "exited" || state.run === "gone";
}

/** What the page shows of a session. */
export type Phase = "loading" | "starting" | "idle" | "working" | "waiting" | "ended" | "resuming";

export function phaseOf(state: SessionState): Phase {
  if (state.action === "resuming") return "resuming";
  if (state.run === "unknown") return "loading";
  if (isOver(state)) return "ended";
  if (state.waiting > 0) return "waiting";
  if (state.turnOpen) return "working";
  return state.run === "starting" ? "starting" : "idle";
}

export function isConnectionLost(state: SessionState): boolean {
  return state.listLost || state.stream === "reconnecting";
}

/** Only after the server has said that the process is over. */
export function canResume(state: SessionState): boolean {
  return isOver(state) && state.action === "none" && !state.listLost;
}
