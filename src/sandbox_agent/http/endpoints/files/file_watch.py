"""`GET /v1/fs/watch`: changes in a directory as server-sent events.

`ready` is sent when all directories are watched, `change` for changes (those within 50 ms together),
`overflow` when reports were dropped and the client has to look again, `end` when the directory is
gone. There are no event numbers: a client that connects again reads the directory first.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from sandbox_agent import errors
from sandbox_agent.http import sse
from sandbox_agent.http.json_body import encode
from sandbox_agent.http.messages import Request, StreamingResponse
from sandbox_agent.http.openapi.operation import Content, Flag, Operation, OptionalText, ResponseSpec
from sandbox_agent.workspace.executor.serial_executor import SerialExecutor
from sandbox_agent.workspace.watch.changes import FsChanges
from sandbox_agent.workspace.watch.directory_watch import DirectoryWatch

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

COALESCE_S = 0.05
_PATH = OptionalText("path", "A directory; the home directory (or the root) when absent", "project")
_RECURSIVE = Flag("recursive", "Also everything below the directory", True)
_EXCLUDE = OptionalText(
    "exclude", "Names of directories to leave out at any depth, with commas", ".git,node_modules"
)


class FsWatchReady(msgspec.Struct, rename="camel"):
    """The data of `event: ready`."""

    path: str
    directories: int
    complete: Annotated[bool, Meta(description="False: there are more directories than may be watched")]


@Operation(
    id="watchFs",
    tag="files",
    summary="Follow the changes in a directory",
    description=(
        "Events: `ready`, `change` (data: `{changes: [{path, kind, entryType, previousPath?}]}`), `overflow`"
        ", `end`. Links are not followed."
    ),
    parameters=[_PATH, _RECURSIVE, _EXCLUDE],
    responses={200: ResponseSpec("The events", [Content(str, media_type="text/event-stream")])},
    errors=[
        errors.PermissionDenied,
        errors.NotFound,
        errors.StreamError,
        errors.TooManyStreams,
        errors.OutOfDescriptors,
        errors.Timeout,
    ],
)
async def watch_directory(request: Request, services: Services) -> StreamingResponse:
    services.require_enabled("fs_watch")
    path, recursive = _PATH.read(request) or "", _RECURSIVE.read(request)
    excluded = frozenset(filter(None, (_EXCLUDE.read(request) or "").split(",")))
    serial = SerialExecutor(services.file_executor, services.workspace.absolute(path))
    services.streams.take()
    try:
        watch = await serial.run(
            lambda: DirectoryWatch(
                services.workspace,
                path,
                recursive=recursive,
                excluded=excluded,
                max_directories=services.settings.fs_watch_max_directories,
            )
        )
    except BaseException:
        services.streams.release()
        raise
    return StreamingResponse(200, list(sse.HEADERS), _WatchStream(services, serial, watch))


class _WatchStream:
    """The pieces of the response. Not an async generator: its `finally` would not run before a first step."""

    def __init__(self, services: Services, serial: SerialExecutor, watch: DirectoryWatch) -> None:
        self._services = services
        self._serial = serial
        self._watch = watch
        self._has_events = asyncio.Event()
        self._is_ready = False
        self._has_ended = False
        asyncio.get_running_loop().add_reader(watch.fileno(), self._has_events.set)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        if not self._is_ready:
            self._is_ready = True
            ready = FsWatchReady(self._watch.path, self._watch.directories, self._watch.is_complete)
            return sse.event(b"ready", encode(ready))
        if self._has_ended:
            raise StopAsyncIteration
        while True:
            try:
                async with asyncio.timeout(self._services.heartbeat_s):
                    await self._has_events.wait()
            except TimeoutError:
                return sse.HEARTBEAT
            await asyncio.sleep(COALESCE_S)  # An editor or a build changes many files at once.
            if events := await self._take():
                return events

    async def _take(self) -> bytes:
        # Cleared before reading: what arrives during the step makes the descriptor readable again.
        self._has_events.clear()
        report = await self._serial.run(self._watch.take)
        events = b""
        if report.overflowed:
            events += sse.event(b"overflow", b"{}")
        if report.changes:
            events += sse.event(b"change", encode(FsChanges(report.changes)))
        if report.ended:
            self._has_ended = True
            events += sse.event(b"end", b"{}")
        return events

    async def aclose(self) -> None:
        asyncio.get_running_loop().remove_reader(self._watch.fileno())
        self._serial.close(self._watch.close)
        self._services.streams.release()
