"""One turn: a prompt, everything the agent does about it, and the result.

A turn runs by itself once it is started: by `session.start`, or by the first use of `session.stream`. Readers
may start late, read twice, or stop. Leaving the `async with` block of an unfinished turn cancels it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Protocol

from sandbox_agent.sdk.errors import APITimeoutError, SandboxAgentError
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.turns.turn_messages import TurnMessages
from sandbox_agent.sdk.session.turns.turn_result import TurnResult, completed_items, final_text
from sandbox_agent.sdk.universal import Cost, UniversalEvent
from sandbox_agent.sdk.universal.usage import usage_of_turn

log = logging.getLogger("sandbox_agent")

# How long leaving an unfinished turn waits for the agent to stop.
CANCEL_TIMEOUT_S = 15.0


class TurnOwner(Protocol):
    """What a turn needs of its session."""

    def enter(self, turn: AsyncTurn) -> None:
        """Put a turn into the queue as it starts; raises if it may not wait."""
        ...

    def older_turn_open(self, turn_id: str) -> bool:
        """Whether the agent still works on a prompt before this turn's."""
        ...

    def watch(self, change: int) -> None:
        """Count the readers: one more or one less."""
        ...

    async def cancel_turn(self, turn: AsyncTurn) -> None:
        """Cancel this turn."""
        ...


TurnWork = Callable[["AsyncTurn"], Coroutine[Any, Any, TurnResult]]


class AsyncTurn:
    """A turn of an `AsyncSession`; made by `session.start()` and `session.stream()`."""

    def __init__(self, owner: TurnOwner, turn_id: str, work: TurnWork, *, may_wait: bool = True) -> None:
        self._id = turn_id
        self.may_wait = may_wait
        """Whether it may wait in the queue behind other turns."""
        self._owner = owner
        self._work = work
        self.messages = TurnMessages(turn_id, owner.older_turn_open)
        """What it has received so far."""
        self.cost_before: Cost | None = None
        """The cost of the session before this turn."""
        self._task: asyncio.Task[TurnResult] | None = None
        self._used = False
        self._given_up: SandboxAgentError | None = None
        self.cancel_wanted = False

    def __repr__(self) -> str:
        state = "done" if self.done else "not started" if self._task is None else "running"
        return f"<{type(self).__name__} {self.id}, {state}, {len(self.messages.events)} events>"

    # -- for the turn queue -----------------------------------------------------------------------------

    def start(self) -> None:
        """Send the prompt, unless it was sent; raises if it may not wait and another turn runs."""
        self._used = True
        if self._task is None:
            self._owner.enter(self)
            self._task = asyncio.create_task(self._run(), name=f"turn {self.id}")
            self._task.add_done_callback(self._finished)

    async def until_idle(self, is_open: Callable[[], bool]) -> dict[str, Any] | None:
        """The idle state that ends an accepted turn (ACP v2); None if the turn ended without one."""
        while is_open():
            await self.messages.next_change()
        return self.messages.idle

    def make_result(self, answer: Any) -> TurnResult:
        """The result, from the agent's answer and the events before it."""
        messages = self.messages
        messages.take_undecided()
        raw = answer if isinstance(answer, dict) else {}
        items = completed_items(messages.events)
        return TurnResult(
            stop_reason=str(raw.get("stopReason") or "end_turn"),
            text=self.text if messages.idle is None else final_text(items),
            usage=usage_of_turn(raw, messages.usage, self.cost_before),
            turn_id=self.id,
            items=items,
            events=list(messages.events),
            raw=raw,
        )

    def give_up(self, error: SandboxAgentError | None) -> None:
        """End the turn locally; without an error it was never sent and counts as cancelled."""
        if self._task is not None and not self._task.done():
            self._given_up = error
            self._task.cancel()

    async def settled(self) -> None:
        """Wait until the turn's task has ended."""
        if self._task is not None and self._task is not asyncio.current_task():
            await asyncio.wait([self._task])

    # -- for readers --------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The turn id, as in the events."""
        return self._id

    @property
    def text(self) -> str:
        """The text of the agent's messages so far."""
        return "".join(self.messages.deltas)

    @property
    def done(self) -> bool:
        """Whether the turn has ended, successfully or not."""
        return self._task is not None and self._task.done()

    async def result(self) -> TurnResult:
        """Wait for the end; raises if the turn failed. Cancelling this wait does not cancel the turn.

        An error of the library has the `result` so far.
        """
        task = self._started()
        await asyncio.wait([task])
        if not task.cancelled():
            return task.result()
        if self._given_up is not None:
            raise self._with_result(self._given_up.again())
        return self.make_result({"stopReason": "cancelled"})

    async def cancel(self) -> None:
        """Ask the agent to stop; the turn ends with stop reason `cancelled`."""
        if not self.done:
            self.cancel_wanted = True
            await self._owner.cancel_turn(self)

    def __aiter__(self) -> AsyncIterator[UniversalEvent]:
        """All universal events of the turn; raises at the end if the turn failed."""
        return self._follow(self.messages.events)

    @property
    def text_deltas(self) -> AsyncIterator[str]:
        """The agent's text as it arrives."""
        return self._follow(self.messages.deltas)

    @property
    def raw_events(self) -> AsyncIterator[Envelope]:
        """The ACP messages of the turn, in both directions."""
        return self._follow(self.messages.raw)

    async def __aenter__(self) -> AsyncTurn:
        self.start()
        self._owner.watch(1)
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            if not self.done:
                await self.stop()
        finally:
            self._owner.watch(-1)

    async def stop(self, timeout_s: float = CANCEL_TIMEOUT_S) -> None:
        """Cancel, and wait up to `timeout_s` seconds for the agent to stop."""
        with contextlib.suppress(TimeoutError):  # also of a server that no longer answers
            async with asyncio.timeout(timeout_s):
                try:
                    await self.cancel()
                except SandboxAgentError as error:
                    log.debug("turn %s could not be cancelled: %s", self.id, error)
                if self._task is not None:
                    await asyncio.wait([self._task])
        if self._task is not None and not self._task.done():
            self.give_up(APITimeoutError(f"the agent did not stop within {timeout_s:g} s of being cancelled"))
            await asyncio.wait([self._task])

    def _started(self) -> asyncio.Task[TurnResult]:
        if self._task is None:
            self.start()
        assert self._task is not None  # noqa: S101 - set by start
        return self._task

    async def _run(self) -> TurnResult:
        try:
            return await self._work(self)
        except SandboxAgentError as error:
            raise self._with_result(error) from error.__cause__

    def _with_result(self, error: SandboxAgentError) -> SandboxAgentError:
        error.result = self.make_result({"stopReason": "error"})
        return error

    async def _follow(self, items: list[Any]) -> AsyncIterator[Any]:
        self._started()
        self._owner.watch(1)
        position = 0
        try:
            while True:
                while position < len(items):
                    yield items[position]
                    position += 1
                if self.done:
                    break
                # Nothing is awaited between the last look at the items and this.
                await self.messages.next_change()
        finally:
            self._owner.watch(-1)
        await self.result()

    def __del__(self) -> None:
        if not self._used and not self.cancel_wanted:
            _warn_unused(self._id)

    def _finished(self, task: asyncio.Task[TurnResult]) -> None:
        if not task.cancelled():
            task.exception()
        self.messages.tell()


def _warn_unused(turn_id: str) -> None:
    warnings.warn(
        f"{turn_id}: session.stream() was never used, so nothing was sent; session.start() sends at once",
        RuntimeWarning,
        stacklevel=2,
    )
