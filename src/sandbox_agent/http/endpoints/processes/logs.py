"""The output of a process: the part in memory as JSON, or old and new output as an event stream."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import UNSET, UnsetType

from sandbox_agent import errors
from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.http import sse
from sandbox_agent.http.acp.stream import read_last_event_id
from sandbox_agent.http.endpoints.processes.bodies import (
    ProcessLogEntry,
    ProcessLogEvent,
    ProcessLogGap,
    ProcessLogsResponse,
)
from sandbox_agent.http.endpoints.processes.requested_process import ERRORS, PROCESS_ID, TAG, find_process
from sandbox_agent.http.json_body import json_response
from sandbox_agent.http.messages import Request, Response, StreamingResponse
from sandbox_agent.http.openapi.operation import (
    Choice,
    Content,
    Flag,
    HeaderParameter,
    Number,
    Operation,
    ResponseSpec,
)
from sandbox_agent.terminals import output_log
from sandbox_agent.terminals.log_reader import LogReader

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from sandbox_agent.http.services import Services
    from sandbox_agent.terminals.managed_process import ManagedProcess

_STREAM = Choice(
    "stream",
    "Only this one; the default is everything",
    "stderr",
    Literal["stdout", "stderr", "combined", "pty"],
)
_TAIL = Number("tail", "Only the last so many entries, after the other filters", 10)
_SINCE = Number("since", "Only entries with a larger `sequence`", 41)
_FOLLOW = Flag("follow", "An event stream: the retained entries, then new ones up to the exit", True)
_LAST_EVENT_ID = HeaderParameter("Last-Event-ID", "As `since`; of both the larger counts", "41")
_ENTRY = ProcessLogEntry(sequence=1, stream="stdout", timestamp_ms=1_794_897_698_731, data="b3V0Cg==")
_STREAM_TEXT = """\
Server-sent events. `event: log` carries an entry, `event: gap` says that older entries are no longer kept,
`event: exit` tells exit code and signal and is the last one."""
_IN_FRAMES, _SENT = b"event: message\n", b"event: log\n"


class _EncodedLogs(msgspec.Struct, rename="camel"):
    """A `ProcessLogsResponse` whose entries are JSON already."""

    process_id: str
    stream: str
    entries: list[msgspec.Raw]
    gap: ProcessLogGap | UnsetType


@Operation(
    id="getProcessLogs",
    tag=TAG,
    summary="The output of a process",
    description="Without `follow`: what is in memory (`maxLogBytesPerProcess`). `gap` tells what is not.",
    parameters=[PROCESS_ID, _STREAM, _TAIL, _SINCE, _FOLLOW, _LAST_EVENT_ID],
    responses={
        200: ResponseSpec(
            "Entries",
            [
                Content(
                    ProcessLogsResponse,
                    ProcessLogsResponse(
                        process_id="proc_1",
                        stream="combined",
                        entries=[_ENTRY],
                    ),
                ),
                Content(ProcessLogEvent, media_type="text/event-stream", description=_STREAM_TEXT),
            ],
        )
    },
    errors=[*ERRORS, errors.TooManyStreams],
)
async def get_logs(request: Request, services: Services) -> Response | StreamingResponse:
    stream, tail, follow = _STREAM.read(request), _TAIL.read(request), _FOLLOW.read(request)
    after = [_SINCE.read(request), read_last_event_id(request.headers)]
    since = max((number for number in after if number is not None), default=None)
    managed = find_process(services, request.path_params[0])
    stream = stream or ("pty" if managed.is_terminal else "combined")
    if not follow:
        return _snapshot(managed, stream, tail, since)
    chunks = _follow(request, services, managed, stream, tail, since)
    if request.method != "HEAD":
        # Refuse now, not in mid-stream.
        services.streams.check_room()
    return StreamingResponse(200, list(sse.HEADERS), chunks)


def _snapshot(managed: ManagedProcess, stream: str, tail: int | None, since: int | None) -> Response:
    log = managed.log
    oldest = log.first_in_memory
    entries = _filtered(output_log.in_memory(log, since or 0), stream)
    if tail is not None:
        entries = entries[len(entries) - min(tail, len(entries)) :]
    is_missing = (since or 0) < oldest - 1 and tail is None
    return json_response(
        _EncodedLogs(
            managed.id,
            stream,
            [msgspec.Raw(entry) for entry in entries],
            ProcessLogGap(oldest, log.last) if is_missing else UNSET,
        )
    )


def _filtered(entries: Iterator[bytes], stream: str) -> list[bytes]:
    return [entry for entry in entries if stream == "combined" or output_log.stream_of(entry) == stream]


async def _follow(
    request: Request,
    services: Services,
    managed: ManagedProcess,
    stream: str,
    tail: int | None,
    since: int | None,
) -> AsyncIterator[bytes]:
    log = managed.log
    if tail is not None:
        since = _before_tail(managed, stream, tail, since)
    reader = LogReader(log, since, services.streams.attach)
    leaving = asyncio.ensure_future(request.wait_for_disconnect())
    leaving.add_done_callback(lambda _: reader.wake())
    try:
        while not leaving.done():
            item = await reader.read()
            if isinstance(item, Gap):
                yield sse.gap(item)
            elif item is not None:
                if chunk := _framed(item, stream):
                    yield chunk
            elif log.closed:
                return
            elif managed.exit is not None and reader.is_at_end:
                yield b"event: exit\ndata: %b\n\n" % msgspec.json.encode(managed.exit.facts)
                return
            elif not await reader.wait(services.heartbeat_s):
                yield sse.HEARTBEAT
    finally:
        leaving.cancel()
        services.streams.detach(reader.cursor)


def _before_tail(managed: ManagedProcess, stream: str, tail: int, since: int | None) -> int:
    """The number before the last `tail` entries in memory."""
    if not tail:
        return managed.log.last
    entries = _filtered(output_log.in_memory(managed.log, since or 0), stream)
    return output_log.sequence_of(entries[-tail:][0]) - 1 if entries else managed.log.last


def _framed(frames: bytes, stream: str) -> bytes:
    frames = frames.replace(_IN_FRAMES, _SENT)
    if stream == "combined":
        return frames
    wanted = b'"stream":"%b"' % stream.encode()
    return b"".join(frame + b"\n\n" for frame in frames.split(b"\n\n") if wanted in frame)
