"""One connection for the streams of many instances: `GET /v1/events?servers=`.

The first instances of a client have a stream each. Further ones share: a group of up to 64 reads one
stream, so 1,000 instances need 24 connections. The list of servers is part of the address, so a group
that gets another instance opens its stream again, at the positions that its readers have reached; instances
that come in the same moment are taken together. A server without this endpoint gets a stream for each.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable
from typing import Protocol

from anyio import CancelScope

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import (
    INSTANCE_GONE,
    AgentExitedError,
    APIConnectionError,
    APIStatusError,
    SandboxAgentError,
)
from sandbox_agent.sdk.transport.http_api import HttpApi, network_errors
from sandbox_agent.sdk.transport.retries import backoff
from sandbox_agent.sdk.transport.streams.sse import Frame, FrameDecoder

log = logging.getLogger("sandbox_agent")

PATH = "/v1/events"
OWN_STREAMS = 8
GROUP_SIZE = 64
# Instances that are started at the same time join a group together.
GATHER_S = 0.02
FIRST_PAUSE_S = 0.1
LAST_PAUSE_S = 10.0
# Other ids would have to be encoded twice in the address.
_PLAIN_ID = re.compile(r"[A-Za-z0-9._~-]+")


class SharedReader(Protocol):
    """The reader of one instance in a group."""

    server_id: str
    last_event_id: int
    connected: bool
    last_heard: float

    def take(self, frame: Frame) -> SandboxAgentError | None: ...
    def dropped(self) -> None: ...
    def ended(self, error: SandboxAgentError) -> None: ...
    def read_alone(self) -> None: ...


class SharedStreams:
    """The groups of one client."""

    def __init__(self, api: HttpApi) -> None:
        self._api = api
        self._alone = 0
        self._groups: list[StreamGroup] = []
        self._offered = True

    def join(self, reader: SharedReader) -> StreamGroup | None:
        """A group that reads for this reader; None if it has to read alone."""
        plain = _PLAIN_ID.fullmatch(reader.server_id) is not None
        if not self._offered or not plain or self._alone < OWN_STREAMS:
            self._alone += 1
            return None
        group = next((one for one in self._groups if len(one.readers) < GROUP_SIZE), None)
        if group is None:
            group = StreamGroup(self._api, self._not_offered)
            self._groups.append(group)
        group.add(reader)
        return group

    def left_alone(self) -> None:
        """A reader with a stream of its own has stopped."""
        self._alone -= 1

    def _not_offered(self) -> None:
        """The server does not have the endpoint: every reader reads alone."""
        self._offered = False
        groups, self._groups = self._groups, []
        for group in groups:
            for reader in group.close():
                self._alone += 1
                reader.read_alone()


class StreamGroup:
    """Reads one stream for several readers."""

    def __init__(self, api: HttpApi, not_offered: Callable[[], None]) -> None:
        self.readers: dict[str, SharedReader] = {}
        self._api = api
        self._not_offered = not_offered
        self._joined = asyncio.Event()
        self._opened = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def add(self, reader: SharedReader) -> None:
        """Read for another reader too."""
        self.readers[reader.server_id] = reader
        self._joined.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._read_forever(), name=f"stream {PATH}")

    async def remove(self, reader: SharedReader) -> None:
        """Read no longer for this reader; the stream ends with the last one."""
        self._forget(reader)
        if not self.readers and self._task is not None:
            task, self._task = self._task, None
            task.cancel()
            await asyncio.wait([task])

    def close(self) -> list[SharedReader]:
        """End the stream and return its readers."""
        readers, self.readers = list(self.readers.values()), {}
        if self._task is not None and self._task is not asyncio.current_task():
            self._task.cancel()
        return readers

    async def _read_forever(self) -> None:
        attempt = 0
        while self.readers:
            self._joined.clear()
            self._opened.clear()
            before = sum(reader.last_event_id for reader in self.readers.values())
            # A scope: `httpx` closes its connections completely when this task is cancelled by one.
            scope = CancelScope()
            reading = asyncio.create_task(self._read(dict(self.readers), scope), name=f"read {PATH}")
            try:
                await self._until_joined(reading)
            finally:
                scope.cancel()
                await asyncio.wait([reading])
            if reading.cancelled() or scope.cancelled_caught:
                continue
            if self._refused(reading.exception()):
                return
            for reader in list(self.readers.values()):
                reader.dropped()
            if sum(reader.last_event_id for reader in self.readers.values()) != before:
                attempt = 0
            # A reader that joins meanwhile has just reached the server.
            pause = backoff(attempt, first=FIRST_PAUSE_S, limit=LAST_PAUSE_S)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._joined.wait()
            attempt += 1

    async def _until_joined(self, reading: asyncio.Task[None]) -> None:
        """Wait until the stream ends, or until it is open and others have joined."""
        joined, opened = (asyncio.create_task(event.wait()) for event in (self._joined, self._opened))
        try:
            await asyncio.wait([reading, joined], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([reading, opened], return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait([reading], timeout=GATHER_S)
        finally:
            joined.cancel()
            opened.cancel()

    async def _read(self, readers: dict[str, SharedReader], scope: CancelScope) -> None:
        with scope:
            await self._read_for(readers)

    async def _read_for(self, readers: dict[str, SharedReader]) -> None:
        clock, decoder = asyncio.get_running_loop().time, FrameDecoder()
        current: SharedReader | None = None
        async with self._api.open(
            "GET",
            PATH,
            query={"servers": ",".join(f"{name}:{one.last_event_id}" for name, one in readers.items())},
            headers={"accept": "text/event-stream", "cache-control": "no-cache"},
            read_timeout=self._api.stream_silence_s,
        ) as response:
            self._opened.set()
            for reader in readers.values():
                reader.connected, reader.last_heard = True, clock()
            with network_errors(f"GET {PATH}"):
                async for chunk in response.aiter_bytes():
                    now = clock()
                    for reader in readers.values():
                        reader.last_heard = now
                    for frame in decoder.feed(chunk):
                        if frame.event == "server":
                            current = readers.get(_server_id(frame))
                        elif frame.event == "end":
                            self._end(readers.get(_server_id(frame)), gone())
                        elif current is not None and self.readers.get(current.server_id) is current:
                            self._end(current, current.take(frame))

    def _end(self, reader: SharedReader | None, error: SandboxAgentError | None) -> None:
        if reader is not None and error is not None and self._forget(reader):
            reader.ended(error)

    def _forget(self, reader: SharedReader) -> bool:
        """Whether the reader was one of this group; another one may have taken its id."""
        if self.readers.get(reader.server_id) is not reader:
            return False
        del self.readers[reader.server_id]
        return True

    def _refused(self, error: BaseException | None) -> bool:
        """Whether the server refuses the stream for good; the readers have been told then."""
        if error is None or isinstance(error, APIConnectionError):
            log.debug("stream %s dropped: %s", PATH, error)
            return False
        if not isinstance(error, APIStatusError):
            raise error
        if error.status_code in (404, 405):
            self._not_offered()
            return True
        if error.status_code in (408, 429) or error.status_code >= 500:
            return False
        for reader in list(self.readers.values()):
            self._end(reader, error)
        return True


def gone() -> AgentExitedError:
    """The error of an instance that the server does not have."""
    return AgentExitedError(INSTANCE_GONE, vanished=True)


def _server_id(frame: Frame) -> str:
    return str(json_codec.decode(frame.data).get("serverId"))
