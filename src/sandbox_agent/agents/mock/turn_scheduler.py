"""Run the scripts of all open prompts concurrently in one thread.

`TurnScheduler` runs each script a few steps at a time and keeps the timers of paused scripts and their open
requests to the client. Every turn ends with exactly one answer, also if its script fails.
"""

from __future__ import annotations

import heapq
import time
from collections import deque
from typing import Any

from sandbox_agent.agents.mock.client_link import ClientLink
from sandbox_agent.agents.mock.jsonrpc_lines import Json, JsonRpcError, LineOutput
from sandbox_agent.agents.mock.mock_sessions import MockSession, SessionStore
from sandbox_agent.agents.mock.scripts.script_steps import (
    ClientReply,
    EndSession,
    ExitAfterAnswer,
    Pause,
    RunAction,
    Script,
    SendNotification,
    SendRequest,
    SendUpdate,
    Step,
    StopReading,
    TurnCancelled,
    WriteRaw,
)
from sandbox_agent.jsonrpc_error_codes import INTERNAL_ERROR, REQUEST_CANCELLED

# After this number of steps another turn, or a line of input, is served.
STEPS_PER_SLICE = 32
LONGEST_WAIT_S = 3600.0  # select has an upper limit
READY, WAITING, DONE = "ready", "waiting", "done"


class MockTurn:
    """One prompt and the state of its script."""

    def __init__(self, request_id: Any, session: MockSession, script: Script, input_tokens: int) -> None:
        self.request_id = request_id
        self.session = session
        self.script = script
        self.state = READY
        self.reply: ClientReply | None = None
        self.open_request: object = None  # id of its request to the client
        self.timer = 0  # number of its timer
        self.stubborn = False
        self.cancelled = False
        self.ends_session = False
        self.exit_code: int | None = None
        self.input_tokens = input_tokens
        self.output_tokens = 0


class TurnScheduler:
    """All turns that have not ended."""

    def __init__(self, output: LineOutput, link: ClientLink, sessions: SessionStore) -> None:
        self._output = output
        self._link = link
        self._sessions = sessions
        self._open: list[MockTurn] = []
        self._ready: deque[MockTurn] = deque()
        self._timers: list[tuple[float, int, MockTurn]] = []
        self._requests: dict[object, MockTurn] = {}
        self._counter = 0
        self.reading = True
        self.exit_code: int | None = None

    def start(self, turn: MockTurn) -> None:
        self._open.append(turn)
        self._ready.append(turn)

    def run_slice(self) -> None:
        """Run each turn that is ready for a few steps."""
        now = time.monotonic()
        while self._timers and self._timers[0][0] <= now:
            _, number, turn = heapq.heappop(self._timers)
            if turn.timer == number:
                self._wake(turn)
        for _ in range(len(self._ready)):
            turn = self._ready.popleft()
            if turn.state is READY:
                self._advance(turn)

    def wait_s(self) -> float | None:
        """Seconds until the next timer, 0 if a turn is ready; None if there is neither."""
        if self._ready:
            return 0.0
        if self._timers:
            return min(LONGEST_WAIT_S, max(0.0, self._timers[0][0] - time.monotonic()))
        return None

    def handle_reply(self, request_id: object, reply: ClientReply) -> None:
        """Resume the turn that sent the request; a reply to a cancelled request is ignored."""
        turn = self._requests.pop(request_id, None) if isinstance(request_id, int | str) else None
        if turn is not None:
            turn.open_request = None
            turn.reply = reply
            self._link.request_answered(turn.session.id)
            self._wake(turn)

    def is_running(self, session: MockSession) -> bool:
        return any(turn.session is session for turn in self._open)

    def cancel_session(self, session: MockSession) -> None:
        for turn in [turn for turn in self._open if turn.session is session]:
            self._cancel(turn)

    def cancel_request(self, request_id: object) -> None:
        if self._link.version != 1:
            return  # The request was answered when the prompt was accepted.
        for turn in [turn for turn in self._open if turn.request_id == request_id]:
            if not turn.stubborn:
                self._cancel_open_request(turn)
                self._finish(turn, error=JsonRpcError(REQUEST_CANCELLED, "Request cancelled"))

    def _cancel(self, turn: MockTurn) -> None:
        if turn.stubborn or turn.cancelled:
            return
        turn.cancelled = True
        self._cancel_open_request(turn)
        self._advance(turn, TurnCancelled())

    def _cancel_open_request(self, turn: MockTurn) -> None:
        if turn.open_request is not None:
            self._requests.pop(turn.open_request, None)
            self._link.notify("$/cancel_request", {"requestId": turn.open_request})
            turn.open_request = None

    def _wake(self, turn: MockTurn) -> None:
        turn.timer = 0
        if turn.state is WAITING:
            turn.state = READY
            self._ready.append(turn)

    def _advance(self, turn: MockTurn, thrown: TurnCancelled | None = None) -> None:
        turn.timer = 0
        was_queued = thrown is not None and turn.state is READY
        turn.state = READY
        try:
            for _ in range(STEPS_PER_SLICE):
                if thrown is not None:
                    step, thrown = turn.script.throw(thrown), None
                else:
                    reply, turn.reply = turn.reply, None
                    step = turn.script.send(reply)
                self._execute(turn, step)
                if turn.state is not READY:
                    return
        except StopIteration as stop:
            self._finish(turn, stop.value or "end_turn")
        except TurnCancelled:
            self._finish(turn, "cancelled")
        except JsonRpcError as error:
            self._finish(turn, error=error)
        except BrokenPipeError:
            raise
        except Exception as bug:  # A bug in one script must not end all sessions.
            self._finish(turn, error=JsonRpcError(INTERNAL_ERROR, "Internal error", {"detail": repr(bug)}))
        else:
            if not was_queued:
                self._ready.append(turn)

    def _execute(self, turn: MockTurn, step: Step) -> None:
        if isinstance(step, SendUpdate):
            self._update(turn, step)
        elif isinstance(step, WriteRaw):
            self._output.write(step.data)
        elif isinstance(step, SendNotification):
            self._link.notify(step.method, step.params)
        elif isinstance(step, SendRequest):
            self._send_request(turn, step)
        elif isinstance(step, Pause):
            self._pause(turn, step)
        elif isinstance(step, RunAction):
            self._sessions.save()
            self._output.flush()
            step.action()
        elif isinstance(step, StopReading):
            self.reading = False
        elif isinstance(step, ExitAfterAnswer):
            turn.exit_code = step.code
        elif isinstance(step, EndSession):
            turn.ends_session = True

    def _update(self, turn: MockTurn, step: SendUpdate) -> None:
        content = step.update.get("content")
        if isinstance(content, dict):
            turn.output_tokens += estimated_tokens(content.get("text", ""))
        if step.keep:
            turn.session.record(step.update)
        self._link.update(turn.session.id, step.update)

    def _send_request(self, turn: MockTurn, step: SendRequest) -> None:
        self._counter += 1
        request_id: int | str = f"{step.id_prefix}{self._counter}" if step.id_prefix else self._counter
        turn.open_request = request_id
        turn.state = WAITING
        self._requests[request_id] = turn
        self._link.request(request_id, turn.session.id, step.method, step.params)

    def _pause(self, turn: MockTurn, step: Pause) -> None:
        turn.state = WAITING
        turn.stubborn = step.stubborn
        if step.seconds is not None:
            self._counter += 1
            turn.timer = self._counter
            heapq.heappush(self._timers, (time.monotonic() + step.seconds, turn.timer, turn))

    def _finish(self, turn: MockTurn, stop_reason: str = "", error: JsonRpcError | None = None) -> None:
        turn.state = DONE
        self._open.remove(turn)
        turn.script.close()
        total = turn.input_tokens + turn.output_tokens
        turn.session.used_tokens += total
        turn.session.save_facts_later()
        usage = {"totalTokens": total, "inputTokens": turn.input_tokens, "outputTokens": turn.output_tokens}
        result: Json = {"stopReason": "cancelled" if turn.cancelled else stop_reason, "usage": usage}
        self._link.turn_ended(turn.request_id, turn.session.id, result, error)
        if turn.ends_session:
            self.cancel_session(turn.session)
            self._sessions.close(turn.session.id)
        if turn.exit_code is not None:
            self.exit_code = turn.exit_code


def estimated_tokens(text: str) -> int:
    """Roughly the number of tokens that a model would count."""
    return -(-len(text) // 4)
