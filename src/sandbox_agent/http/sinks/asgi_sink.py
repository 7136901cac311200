"""The response sink of an ASGI server: what is written is queued, and sent by `run`."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog.file_range import FileRange
from sandbox_agent.http.messages import with_length
from sandbox_agent.http.sinks.step_guard import run_guarded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox_agent.http.messages import HeaderList, Message, Receive, Send
    from sandbox_agent.http.sinks.response_sink import ResponseWriter


class AsgiSink:
    """Implements `ResponseSink`."""

    def __init__(self) -> None:
        self._queue: deque[Message | FileRange] = deque()
        self._changed = asyncio.Event()
        """Something is queued, the writer has failed, or the client has left."""
        self._writer: ResponseWriter | None = None
        self._failure: Exception | None = None
        self._started = False
        self._closed = False
        """The response has ended or the client has left: nothing more is queued."""

    # ---- ResponseSink ------------------------------------------------------------------------------------

    @property
    def can_write(self) -> bool:
        return not self._queue and not self._closed

    def respond(self, status: int, headers: HeaderList, body: bytes = b"") -> None:
        if not self._started:
            self.start(status, with_length(status, headers, body))
            self.write(body)
            self.end()

    def start(self, status: int, headers: HeaderList) -> None:
        self._started = True
        self._put({"type": "http.response.start", "status": status, "headers": headers})

    def write(self, data: bytes) -> None:
        if data:
            self._put({"type": "http.response.body", "body": data, "more_body": True})

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        self.write(b"".join(pieces))

    def write_file(self, file_range: FileRange) -> None:
        self._put(file_range)

    def end(self) -> None:
        self._put({"type": "http.response.body", "body": b""})
        self._closed = True

    def fail(self, error: Exception) -> None:
        """`run` raises the error; the application answers with a problem if nothing has been sent."""
        if not self._closed:
            self._failure = error
            self._changed.set()

    def attach(self, writer: ResponseWriter, *, is_endless: bool = False) -> None:
        self._writer = writer

    def _put(self, item: Message | FileRange) -> None:
        if not self._closed:
            self._queue.append(item)
            self._changed.set()

    # ---- ASGI --------------------------------------------------------------------------------------------

    async def run(self, receive: Receive, send: Send) -> None:
        """Send what is written until the response has ended or the client has left."""
        disconnect = asyncio.ensure_future(_wait_for_disconnect(receive))
        disconnect.add_done_callback(lambda _: self._changed.set())
        try:
            while not disconnect.done():
                self._changed.clear()
                if self._failure is not None:
                    raise self._failure
                if self._queue:
                    await self._send(self._queue.popleft(), send)
                elif self._closed:
                    return
                else:
                    if self._writer is not None:
                        run_guarded(self, self._writer.resume)
                    await self._changed.wait()
        finally:
            self._closed = True
            disconnect.cancel()
            if self._writer is not None:
                run_guarded(self, self._writer.disconnected)

    async def _send(self, item: Message | FileRange, send: Send) -> None:
        if isinstance(item, FileRange):
            data = await asyncio.get_running_loop().run_in_executor(None, item.read)
            item = {"type": "http.response.body", "body": data, "more_body": True}
        await send(item)


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
