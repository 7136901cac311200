"""One turn under way: it ends by an outcome, by a fault, or by the client's wish.

Converted output is sent in order by one task, so that a native event never overtakes another and the answer
to the prompt comes last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from sandbox_agent.agents.adapters.common import adapter_errors, timeouts
from sandbox_agent.agents.adapters.common.client_channel import ClientChannel
from sandbox_agent.agents.adapters.common.updates import Unparsed, Update

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
_LOOK_EVERY_S = 1.0


class Turn:
    """Made when a prompt begins; `finish` waits for the end."""

    def __init__(self, desk: ClientChannel, session_id: str, agent: str, silence_limit_s: float) -> None:
        self._desk, self._session_id, self._agent = desk, session_id, agent
        self._silence_limit_s = silence_limit_s
        self._end: asyncio.Future[StopReason] = asyncio.get_running_loop().create_future()
        self._queue: asyncio.Queue[Sequence[Update | Unparsed] | None] = asyncio.Queue()
        self._heard_at = asyncio.get_running_loop().time()
        self._cancelled_at: float | None = None

    def emit(self, output: Sequence[Update | Unparsed]) -> None:
        self._heard_at = asyncio.get_running_loop().time()
        self._queue.put_nowait(output)

    def heard(self) -> None:
        """The program gave a sign of life that is nothing to tell."""
        self._heard_at = asyncio.get_running_loop().time()

    def end(self, reason: StopReason) -> None:
        if not self._end.done():
            self._end.set_result("cancelled" if self.is_cancelled else reason)

    def fail(self, error: Exception) -> None:
        if self.is_cancelled:
            self.end("cancelled")
        elif not self._end.done():
            self._end.set_exception(error)

    @property
    def is_cancelled(self) -> bool:
        return self._cancelled_at is not None

    def cancel(self) -> None:
        """From now on every end is `cancelled`; one that does not come in time is made."""
        self._cancelled_at = self._cancelled_at or asyncio.get_running_loop().time()
        self._desk.withdraw(self._session_id)

    async def finish(self) -> StopReason:
        """The stop reason, after everything emitted before was sent; raises what `fail` was given."""
        sending = asyncio.create_task(self._send())
        try:
            while not self._end.done():
                waiting: list[asyncio.Future[Any]] = [self._end, sending]
                await asyncio.wait(waiting, timeout=_LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
                self._look()
            return self._end.result()
        finally:
            self._desk.withdraw(self._session_id)
            self._queue.put_nowait(None)
            await sending

    def _look(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._cancelled_at is not None and now - self._cancelled_at > timeouts.cancel_s():
            self.end("cancelled")
        elif self._desk.is_asking(self._session_id):
            self._heard_at = now
        elif now - self._heard_at > self._silence_limit_s:
            self.fail(adapter_errors.program_silent(self._agent, "in a turn", self._silence_limit_s))

    async def _send(self) -> None:
        while (output := await self._queue.get()) is not None:
            await self._desk.send(self._session_id, output)
