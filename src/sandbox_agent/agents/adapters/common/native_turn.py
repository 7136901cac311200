"""One running turn; it ends with a stop reason, with an error, or because the client cancelled it.

One task sends the converted output, so events keep their order and the answer to the prompt comes last.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, Literal

from sandbox_agent.agents.adapters.common import adapter_errors, timeouts
from sandbox_agent.agents.adapters.common.client_channel import ClientChannel
from sandbox_agent.agents.adapters.common.updates import Unparsed, Update

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
_CHECK_INTERVAL_S = 1.0


class NativeTurn:
    """Created for each prompt; `finish` waits for the end."""

    def __init__(self, channel: ClientChannel, session_id: str, agent: str, silence_limit_s: float) -> None:
        self._channel, self._session_id, self._agent = channel, session_id, agent
        self._silence_limit_s = silence_limit_s
        self._end: asyncio.Future[StopReason] = asyncio.get_running_loop().create_future()
        self._queue: asyncio.Queue[Sequence[Update | Unparsed] | None] = asyncio.Queue()
        self._last_output_at = asyncio.get_running_loop().time()
        self._cancelled_at: float | None = None

    def emit(self, output: Sequence[Update | Unparsed]) -> None:
        self._last_output_at = asyncio.get_running_loop().time()
        self._queue.put_nowait(output)

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
        """Make `cancelled` the stop reason; after `timeouts.cancel_s` the turn ends by itself."""
        self._cancelled_at = self._cancelled_at or asyncio.get_running_loop().time()
        self._channel.cancel_requests(self._session_id)

    async def finish(self) -> StopReason:
        """Wait for the end and for all emitted output to be sent; raises the error given to `fail`."""
        sending = asyncio.create_task(self._send())
        try:
            while not self._end.done():
                waiting: list[asyncio.Future[Any]] = [self._end, sending]
                await asyncio.wait(waiting, timeout=_CHECK_INTERVAL_S, return_when=asyncio.FIRST_COMPLETED)
                self._check_limits()
            return self._end.result()
        finally:
            self._channel.cancel_requests(self._session_id)
            self._queue.put_nowait(None)
            await sending

    def _check_limits(self) -> None:
        now = asyncio.get_running_loop().time()
        if self._cancelled_at is not None and now - self._cancelled_at > timeouts.cancel_s():
            self.end("cancelled")
        elif self._channel.has_open_requests(self._session_id):
            self._last_output_at = now
        elif now - self._last_output_at > self._silence_limit_s:
            self.fail(adapter_errors.program_silent(self._agent, "in a turn", self._silence_limit_s))

    async def _send(self) -> None:
        while (output := await self._queue.get()) is not None:
            await self._channel.send_updates(self._session_id, output)
