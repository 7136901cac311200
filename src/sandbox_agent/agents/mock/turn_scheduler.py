"""Turns: prompts whose scripts are under way, side by side in one thread.

`Turns` runs scripts slice by slice, keeps the clock of those that pause and the open requests of those that
ask the client. Every turn ends with exactly one answer, whatever its script does.
"""

from __future__ import annotations

import heapq
import time
from collections import deque

from sandbox_agent.agents.mock.jsonrpc import INTERNAL_ERROR, REQUEST_CANCELLED, RpcError
from sandbox_agent.agents.mock.scripts.steps import (
    Act,
    Ask,
    Cancelled,
    EndSession,
    ExitAfterAnswer,
    Notify,
    Pause,
    Raw,
    Reply,
    StopReading,
    Update,
)

TYPE_CHECKING = False  # as in typing, which is too slow to import here
if TYPE_CHECKING:
    from typing import Any

    from sandbox_agent.agents.mock.jsonrpc import Json, Output
    from sandbox_agent.agents.mock.scripts.steps import Script, Step
    from sandbox_agent.agents.mock.sessions import Session, Sessions

# After so many steps another turn, or a line of input, gets its chance.
STEPS_PER_SLICE = 32
LONGEST_WAIT_S = 3600.0  # select refuses times beyond its range
READY, WAITING, DONE = "ready", "waiting", "done"


class Turn:
    """One prompt and how far its script has come."""

    def __init__(self, request_id: Any, session: Session, script: Script, input_tokens: int) -> None:
        self.request_id = request_id
        self.session = session
        self.script = script
        self.state = READY
        self.reply: Reply | None = None
        self.asked: object = None  # id of its open request to the client
        self.timer = 0  # number of its running timer
        self.stubborn = False
        self.cancelled = False
        self.ends_session = False
        self.exit_code: int | None = None
        self.input_tokens = input_tokens
        self.output_tokens = 0


class Turns:
    """All turns that have not ended."""

    def __init__(self, output: Output, sessions: Sessions) -> None:
        self._output = output
        self._sessions = sessions
        self._open: list[Turn] = []
        self._ready: deque[Turn] = deque()
        self._timers: list[tuple[float, int, Turn]] = []
        self._asked: dict[object, Turn] = {}
        self._counter = 0
        self.reading = True
        self.exit_code: int | None = None

    def start(self, turn: Turn) -> None:
        self._open.append(turn)
        self._ready.append(turn)

    def run_slice(self) -> None:
        """Let every turn that can go on do so, for a few steps."""
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
        """How long nothing will happen by itself; None: for ever."""
        if self._ready:
            return 0.0
        if self._timers:
            return min(LONGEST_WAIT_S, max(0.0, self._timers[0][0] - time.monotonic()))
        return None

    def answered(self, request_id: object, reply: Reply) -> None:
        """The client answered a request; answers nobody waits for any more are ignored."""
        turn = self._asked.pop(request_id, None) if isinstance(request_id, int | str) else None
        if turn is not None:
            turn.asked = None
            turn.reply = reply
            self._wake(turn)

    def cancel_session(self, session: Session) -> None:
        for turn in [turn for turn in self._open if turn.session is session]:
            self._cancel(turn)

    def cancel_request(self, request_id: object) -> None:
        for turn in [turn for turn in self._open if turn.request_id == request_id]:
            if not turn.stubborn:
                self._withdraw_question(turn)
                self._finish(turn, error=RpcError(REQUEST_CANCELLED, "Request cancelled"))

    def _cancel(self, turn: Turn) -> None:
        if turn.stubborn or turn.cancelled:
            return
        turn.cancelled = True
        self._withdraw_question(turn)
        self._advance(turn, Cancelled())

    def _withdraw_question(self, turn: Turn) -> None:
        if turn.asked is not None:
            self._asked.pop(turn.asked, None)
            self._notify("$/cancel_request", {"requestId": turn.asked})
            turn.asked = None

    def _wake(self, turn: Turn) -> None:
        turn.timer = 0
        if turn.state is WAITING:
            turn.state = READY
            self._ready.append(turn)

    def _advance(self, turn: Turn, thrown: Cancelled | None = None) -> None:
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
                self._perform(turn, step)
                if turn.state is not READY:
                    return
        except StopIteration as stop:
            self._finish(turn, stop.value or "end_turn")
        except Cancelled:
            self._finish(turn, "cancelled")
        except RpcError as error:
            self._finish(turn, error=error)
        except BrokenPipeError:
            raise
        except Exception as bug:  # a broken script is told to the client instead of ending every session
            self._finish(turn, error=RpcError(INTERNAL_ERROR, "Internal error", {"detail": repr(bug)}))
        else:
            if not was_queued:
                self._ready.append(turn)

    def _perform(self, turn: Turn, step: Step) -> None:
        if isinstance(step, Update):
            self._update(turn, step)
        elif isinstance(step, Raw):
            self._output.write(step.data)
        elif isinstance(step, Notify):
            self._notify(step.method, step.params)
        elif isinstance(step, Ask):
            self._ask(turn, step)
        elif isinstance(step, Pause):
            self._pause(turn, step)
        elif isinstance(step, Act):
            self._sessions.save()
            self._output.flush()
            step.action()
        elif isinstance(step, StopReading):
            self.reading = False
        elif isinstance(step, ExitAfterAnswer):
            turn.exit_code = step.code
        elif isinstance(step, EndSession):
            turn.ends_session = True

    def _update(self, turn: Turn, step: Update) -> None:
        content = step.update.get("content")
        if isinstance(content, dict):
            turn.output_tokens += estimated_tokens(content.get("text", ""))
        if step.keep:
            turn.session.record(step.update)
        self._notify("session/update", {"sessionId": turn.session.id, "update": step.update})

    def _ask(self, turn: Turn, step: Ask) -> None:
        self._counter += 1
        request_id: int | str = f"{step.id_prefix}{self._counter}" if step.id_prefix else self._counter
        turn.asked = request_id
        turn.state = WAITING
        self._asked[request_id] = turn
        self._output.send({"jsonrpc": "2.0", "id": request_id, "method": step.method, "params": step.params})

    def _pause(self, turn: Turn, step: Pause) -> None:
        turn.state = WAITING
        turn.stubborn = step.stubborn
        if step.seconds is not None:
            self._counter += 1
            turn.timer = self._counter
            heapq.heappush(self._timers, (time.monotonic() + step.seconds, turn.timer, turn))

    def _notify(self, method: str, params: Json) -> None:
        self._output.send({"jsonrpc": "2.0", "method": method, "params": params})

    def _finish(self, turn: Turn, stop_reason: str = "", error: RpcError | None = None) -> None:
        turn.state = DONE
        self._open.remove(turn)
        turn.script.close()
        total = turn.input_tokens + turn.output_tokens
        turn.session.used_tokens += total
        turn.session.note_facts()
        answer: Json = {"jsonrpc": "2.0", "id": turn.request_id}
        if error is not None:
            answer["error"] = error.as_json()
        else:
            usage = {
                "totalTokens": total,
                "inputTokens": turn.input_tokens,
                "outputTokens": turn.output_tokens,
            }
            answer["result"] = {"stopReason": "cancelled" if turn.cancelled else stop_reason, "usage": usage}
        self._output.send(answer)
        if turn.ends_session:
            self.cancel_session(turn.session)
            self._sessions.close(turn.session.id)
        if turn.exit_code is not None:
            self.exit_code = turn.exit_code


def estimated_tokens(text: str) -> int:
    """About as many tokens as a real model would count."""
    return -(-len(text) // 4)
