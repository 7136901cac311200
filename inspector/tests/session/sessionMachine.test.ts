/** The states of a session: only what the server says ends one. */

import { expect, test } from "vitest";
import {
  canResume,
  isConnectionLost,
  NEW_SESSION,
  phaseOf,
  reduceSession,
  type SessionEvent,
  type SessionState,
} from "../../src/session/sessionMachine";

const RUNNING: SessionEvent = { type: "listed", status: "running", askedAt: 10 };
const NOT_LISTED: SessionEvent = { type: "listed", status: undefined, askedAt: 20 };
const WORKING: SessionEvent = { type: "conversation", turnOpen: true, waiting: 0, exited: false };
const WAITING: SessionEvent = { type: "conversation", turnOpen: true, waiting: 1, exited: false };
const QUIET: SessionEvent = { type: "conversation", turnOpen: false, waiting: 0, exited: false };

function after(...events: SessionEvent[]): SessionState {
  return events.reduce(reduceSession, NEW_SESSION);
}

test.each([
  ["nothing is known before the server has answered", [], "loading"],
  ["a listed process is idle", [RUNNING], "idle"],
  ["an open turn is work", [RUNNING, WORKING], "working"],
  ["a request of the agent waits for the user", [RUNNING, WAITING], "waiting"],
  ["the end of a turn makes it idle", [RUNNING, WORKING, QUIET], "idle"],
  ["an agent that is installed first starts", [{ ...RUNNING, status: "starting" }], "starting"],
  ["a list without the process ends it", [RUNNING, WORKING, NOT_LISTED], "ended"],
  ["an exit in the list ends it", [RUNNING, { ...RUNNING, status: "exited" }], "ended"],
  ["an exit in the log ends it", [RUNNING, { ...WORKING, exited: true }], "ended"],
  ["a stream that answers 404 ends it", [RUNNING, { type: "stream", state: "gone" }], "ended"],
  ["the answer to DELETE ends it", [RUNNING, { type: "ending" }, { type: "ended", at: 15 }], "ended"],
  ["a resumed session is idle", [NOT_LISTED, { type: "resuming" }, { type: "resumed", at: 30 }], "idle"],
] as [string, SessionEvent[], string][])("%s", (_, events, phase) => {
  expect(phaseOf(after(...events))).toBe(phase);
});

// clauses: inspector-02
test("a failed poll ends nothing, offers no resume, and says that the connection is lost", () => {
  const state = after(RUNNING, WORKING, { type: "list-failed" });
  expect(phaseOf(state)).toBe("working");
  expect(canResume(state)).toBe(false);
  expect(isConnectionLost(state)).toBe(true);
  expect(isConnectionLost(reduceSession(state, RUNNING))).toBe(false);
});

test.each(["reconnecting", "refused", "closed", "connecting"] as const)(
  "a stream that is %s ends nothing",
  (stream) => {
    expect(phaseOf(after(RUNNING, WORKING, { type: "stream", state: stream }))).toBe("working");
  },
);

// clauses: inspector-01
test("no turn and no request outlives its process, also after a resume", () => {
  const over = after(RUNNING, WAITING, NOT_LISTED);
  expect(over).toMatchObject({ turnOpen: false, waiting: 0 });
  // What the log says about the run before does not open the turn again.
  expect(reduceSession(over, WORKING).turnOpen).toBe(false);
  expect(phaseOf(reduceSession(reduceSession(over, { type: "resuming" }), { type: "resumed", at: 30 }))).toBe(
    "idle",
  );
});

test("a session is resumed only after the server said that its process is over", () => {
  expect(canResume(NEW_SESSION)).toBe(false);
  expect(canResume(after(RUNNING))).toBe(false);
  expect(canResume(after(RUNNING, { type: "list-failed" }))).toBe(false);
  expect(canResume(after(NOT_LISTED))).toBe(true);
  expect(canResume(after(NOT_LISTED, { type: "list-failed" }))).toBe(false);
  expect(reduceSession(after(RUNNING), { type: "resuming" }).action).toBe("none");
});

test("a list that was asked for before a resume says nothing about the new process", () => {
  const resumed = after(NOT_LISTED, { type: "resuming" }, { type: "resumed", at: 30 });
  expect(phaseOf(reduceSession(resumed, { ...NOT_LISTED, askedAt: 25 }))).toBe("idle");
  expect(phaseOf(reduceSession(resumed, { ...NOT_LISTED, askedAt: 35 }))).toBe("ended");
});

test("while a process is started, lists and the old stream do not end the session", () => {
  const resuming = after(NOT_LISTED, { type: "resuming" });
  expect(phaseOf(reduceSession(resuming, NOT_LISTED))).toBe("resuming");
  expect(phaseOf(reduceSession(resuming, { type: "stream", state: "gone" }))).toBe("resuming");
  const failed = reduceSession(resuming, { type: "action-failed" });
  expect(phaseOf(failed)).toBe("ended");
  expect(canResume(failed)).toBe(true);
});

test("an exit in the log is not taken back by an older list", () => {
  const exited = after(RUNNING, { ...QUIET, exited: true });
  expect(phaseOf(reduceSession(exited, { ...RUNNING, askedAt: 11 }))).toBe("ended");
  // A new `initialize` in the log clears it.
  const restarted = reduceSession(reduceSession(exited, QUIET), { ...RUNNING, askedAt: 12 });
  expect(phaseOf(restarted)).toBe("idle");
});

test("whatever happens, an ended session has no open turn and a session without a fact of the server is not ended", () => {
  const events: SessionEvent[] = [
    RUNNING,
    NOT_LISTED,
    { type: "list-failed" },
    WORKING,
    WAITING,
    { ...QUIET, exited: true },
    { type: "stream", state: "gone" },
    { type: "stream", state: "reconnecting" },
    { type: "resuming" },
    { type: "resumed", at: 15 },
    { type: "ending" },
    { type: "action-failed" },
  ];
  let states: SessionState[] = [NEW_SESSION];
  for (let depth = 0; depth < 4; depth += 1) {
    states = states.flatMap((state) => events.map((event) => reduceSession(state, event)));
    const wrong = states.filter(
      (state) =>
        (phaseOf(state) === "ended" && (state.turnOpen || state.waiting > 0)) ||
        (canResume(state) && state.run !== "exited" && state.run !== "gone"),
    );
    expect(wrong).toEqual([]);
  }
});
