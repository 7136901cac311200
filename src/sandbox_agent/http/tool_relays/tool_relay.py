"""One relay: calls of an agent that wait for the answer of the client whose tools they are.

Calls and answers are bytes that the server does not read. A call waits as long as the client is connected; if
it is disconnected for `DISCONNECT_LIMIT_S`, all calls fail, so that an agent never waits for a closed client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from sandbox_agent.errors import NotFound, SandboxAgentError, StreamError

# Longer than the pauses between the attempts of a client that connects again.
DISCONNECT_LIMIT_S = 15.0
# What may wait for a client that does not read, and what may be on its way from the agent. One message of any
# length may always wait.
MAX_WAITING_BYTES = 16 * 1024 * 1024
MAX_WAITING = 1000


class ToolRelay:
    """The calls of one session's tools. It belongs to an instance and ends with it."""

    def __init__(
        self, relay_id: str, server_id: str, ticket: str, disconnect_limit_s: float = DISCONNECT_LIMIT_S
    ) -> None:
        self.relay_id = relay_id
        self.server_id = server_id
        self.ticket = ticket
        """What the command in the sandbox sends in place of the token; it is good for calls of this relay."""
        self.is_closed = False
        self._disconnect_limit_s = disconnect_limit_s
        self._last_number = 0
        self._arriving = 0
        """Bytes of messages that the agent is sending."""
        self._published: dict[int, bytes] = {}
        """Calls without an answer, and notifications that no client has seen, by number."""
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._reader: RelayReader | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._wait_for_reader()

    # ---- the agent ---------------------------------------------------------------------------------------

    @contextmanager
    def arrival(self, size: int) -> Iterator[None]:
        """Around the arrival of a message of `size` bytes. Raises StreamError if there are too many."""
        if self._arriving and self._arriving + size > MAX_WAITING_BYTES:
            raise StreamError("too many calls are being sent at the same time")
        self._arriving += size
        try:
            yield
        finally:
            self._arriving -= size

    async def call(self, body: bytes) -> bytes:
        """The client's answer. Raises NotFound if the relay is closed, StreamError without a client."""
        number = self._publish(body)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            return await answer
        finally:
            self._waiting.pop(number, None)
            self._published.pop(number, None)

    def notify(self, body: bytes) -> None:
        """Tell the client something that has no answer."""
        self._publish(body)

    def _publish(self, body: bytes) -> int:
        if self.is_closed:
            raise _closed()
        if self._reader is None and self._deadline is None:
            raise _no_client()
        waiting = sum(map(len, self._published.values()))
        if len(self._published) >= MAX_WAITING or (waiting and waiting + len(body) > MAX_WAITING_BYTES):
            raise StreamError("the client whose tools these are does not read its calls")
        self._last_number += 1
        self._published[self._last_number] = body
        if self._reader is not None:
            self._reader.wake()
        return self._last_number

    # ---- the client --------------------------------------------------------------------------------------

    def answer(self, number: int, body: bytes) -> None:
        """Answer a call; raises NotFound if it does not wait any more."""
        waiting = self._waiting.get(number)
        if waiting is None or waiting.done():
            raise NotFound("this call does not wait for an answer")
        waiting.set_result(body)

    def open_reader(self, after: int) -> RelayReader:
        """Read the calls with a larger number; another reader, of a client before this one, ends."""
        if self._reader is not None:
            self._reader.end()
        self._stop_waiting()
        self._reader = RelayReader(self, after)
        return self._reader

    def reader_left(self, reader: RelayReader) -> None:
        if self._reader is reader:
            self._reader = None
            self._wait_for_reader()

    def after(self, number: int) -> list[tuple[int, bytes]]:
        """The calls with a larger number; a notification is given once."""
        found = [entry for entry in self._published.items() if entry[0] > number]
        for known, _ in found:
            if known not in self._waiting:
                del self._published[known]
        return found

    def close(self) -> None:
        """End the relay: its calls fail at once."""
        self.is_closed = True
        self._stop_waiting()
        self._fail(_closed())
        if self._reader is not None:
            self._reader.end()

    def _wait_for_reader(self) -> None:
        if not self.is_closed:
            loop = asyncio.get_running_loop()
            self._deadline = loop.call_later(self._disconnect_limit_s, self._client_is_gone)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _client_is_gone(self) -> None:
        self._deadline = None
        self._fail(_no_client())

    def _fail(self, error: SandboxAgentError) -> None:
        self._published.clear()
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(error)


class RelayReader:
    """The connection of a client: batches of calls in their order."""

    def __init__(self, relay: ToolRelay, after: int) -> None:
        self._relay = relay
        self._after = after
        self._has_calls = asyncio.Event()
        self._has_calls.set()
        self.has_ended = False

    def wake(self) -> None:
        self._has_calls.set()

    def end(self) -> None:
        """No further calls: the relay is closed, or another client reads it."""
        self.has_ended = True
        self._has_calls.set()

    async def next_calls(self) -> list[tuple[int, bytes]]:
        """Wait for calls; empty if the reader was woken for another reason."""
        await self._has_calls.wait()
        self._has_calls.clear()
        calls = [] if self.has_ended else self._relay.after(self._after)
        if calls:
            self._after = calls[-1][0]
        return calls

    def leave(self) -> None:
        self._relay.reader_left(self)


def _closed() -> NotFound:
    return NotFound("the client has closed these tools")


def _no_client() -> StreamError:
    return StreamError("the client whose tools these are is not connected")
