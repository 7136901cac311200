"""GET /v1/acp/{server_id}: who may open a stream, from where it starts, and how it is served over ASGI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.bridge.eventlog.file_range import FileRange
from sandbox_agent.errors import InvalidRequest, NotAcceptable, TooManyStreams
from sandbox_agent.http.acp import sse

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from sandbox_agent.bridge.eventlog.cursor import Cursor, Wake
    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.http.messages import HeaderList, Receive, Send
    from sandbox_agent.http.services import Services

_ACCEPTED = frozenset((b"text/event-stream", b"text/*", b"*/*"))
# Numbers of more digits than this are far in the future, and too long for Python to read.
_MAX_DIGITS = 30


def open_log(
    services: Services, server_id: str, headers: Mapping[bytes, bytes]
) -> tuple[EventLog, int | None]:
    """The log to read and the number to start after. Raises what refuses the stream."""
    accept = headers.get(b"accept")
    if accept is not None and not any(
        part.partition(b";")[0].strip().lower() in _ACCEPTED for part in accept.split(b",")
    ):
        raise NotAcceptable("accept must allow text/event-stream")
    last_event_id = _last_event_id(headers.get(b"last-event-id"))
    return services.instances.get(server_id).log, last_event_id


def _last_event_id(header: bytes | None) -> int | None:
    text = (header or b"").strip()
    if not text:
        return None
    if not text.removeprefix(b"+").isdigit():
        raise InvalidRequest("Last-Event-ID must be a positive integer")
    digits = text.lstrip(b"+").lstrip(b"0")
    return int(digits[:_MAX_DIGITS] or b"0")


class StreamSlots:
    """The bound on open streams."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._taken = 0
        self.ended = 0
        """Streams that have ended since somebody last set this back."""

    def attach(self, log: EventLog, last_event_id: int | None, wake: Wake) -> Cursor:
        if self._taken >= self._limit:
            raise TooManyStreams(self._limit)
        self._taken += 1
        return log.attach(last_event_id, wake)

    def detach(self, reader: Cursor) -> None:
        self._taken -= 1
        self.ended += 1
        reader.detach()


async def serve(
    services: Services,
    log: EventLog,
    last_event_id: int | None,
    headers: HeaderList,
    receive: Receive,
    send: Send,
) -> None:
    """Serve a stream through ASGI until the client leaves or the log ends."""
    import asyncio  # here and below: whoever awaits has loaded it

    ready = asyncio.Event()
    reader = services.streams.attach(log, last_event_id, lambda _: ready.set())
    gone = asyncio.ensure_future(_wait_for_disconnect(receive, ready))
    try:
        await send({"type": "http.response.start", "status": 200, "headers": [*sse.HEADERS, *headers]})
        while not gone.done():
            ready.clear()
            item = reader.take()
            if isinstance(item, Gap):
                await _send_chunk(send, sse.gap(item))
            elif isinstance(item, FileRange):
                data = await asyncio.get_running_loop().run_in_executor(None, item.read)
                await _send_chunk(send, data)
            elif item is not None:
                await _send_chunk(send, b"".join(item.pieces))
            elif reader.ended:
                break
            else:
                await _wait_or_heartbeat(ready, services, send)
        if services.stopping:
            await _send_chunk(send, sse.STOPPING)
        await send({"type": "http.response.body", "body": b""})
    finally:
        services.streams.detach(reader)
        gone.cancel()


async def _wait_or_heartbeat(ready: asyncio.Event, services: Services, send: Send) -> None:
    import asyncio

    try:
        await asyncio.wait_for(ready.wait(), services.heartbeat_s)
    except TimeoutError:
        await _send_chunk(send, sse.HEARTBEAT)


async def _send_chunk(send: Send, data: bytes) -> None:
    await send({"type": "http.response.body", "body": data, "more_body": True})


async def _wait_for_disconnect(receive: Receive, ready: asyncio.Event) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    ready.set()
