"""Answers that are read from disk while they are being sent: a file, a long listing, a directory as tar.

Each holds one piece in memory. Whatever happens to the client, `Pieces.aclose` lets go of the open files; a
file that turns out shorter than promised breaks the connection instead of ending like a whole one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from sandbox_agent.errors import StreamError
from sandbox_agent.http.conditional import etag_listed, requested_range
from sandbox_agent.http.messages import HeaderList, Request, Response, StreamingResponse
from sandbox_agent.workspace.files.bodies import FsEntry
from sandbox_agent.workspace.files.executor import Lane
from sandbox_agent.workspace.files.progress_token import ProgressToken
from sandbox_agent.workspace.files.reads import BATCH, OpenFile, entries
from sandbox_agent.workspace.tar import writer

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

PIECE = 1 << 18
WHOLE = 1 << 16  # files up to here are read in the step that opens them, whatever size the system claims
_OCTETS = (b"content-type", b"application/octet-stream")


class Pieces:
    """The pieces of a body, each read in a thread by `step`, which returns None at the end.

    Not an async generator: the `finally` of one does not run if it is closed before its first step.
    """

    def __init__(self, lane: Lane, step: Callable[[], bytes | None], cleanup: Callable[[], None]) -> None:
        self._lane = lane
        self._step = step
        self._cleanup = cleanup

    def __aiter__(self) -> Pieces:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._lane.run(self._step)
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        self._lane.close(self._cleanup)


async def send_file(request: Request, services: Services, path: str) -> Response | StreamingResponse:
    """A file, or the range of it that was asked for."""
    file = OpenFile(services.workspace, path)
    lane = services.file_work.lane(file.path)
    answer: Response | StreamingResponse | None = None
    try:
        first = await lane.run(file.open_and_read, WHOLE + 1)
        answer = _file_answer(request, file, first, lane)
        return answer
    finally:
        if not isinstance(answer, StreamingResponse):
            lane.close(file.close)


def _file_answer(request: Request, file: OpenFile, first: bytes, lane: Lane) -> Response | StreamingResponse:
    is_whole = len(first) <= WHOLE
    if not is_whole and file.size <= WHOLE:
        # The process file system claims size 0: nobody knows the end before it is reached.
        return StreamingResponse(200, [_OCTETS], Pieces(lane, _Range(file, 0, None), file.close))
    size = len(first) if is_whole else file.size
    headers: HeaderList = [(b"etag", file.etag.encode()), (b"accept-ranges", b"bytes")]
    known = request.header(b"if-none-match")
    if known is not None and etag_listed(known, file.etag):
        return Response(304, headers=headers)
    status, begin, end = 200, 0, size
    if request.method == "GET" and request.header(b"if-range") in (None, file.etag):
        wanted = requested_range(request.header(b"range"), size)
        if wanted is not None:
            status, (begin, end) = 206, wanted
            headers.append((b"content-range", b"bytes %d-%d/%d" % (begin, end - 1, size)))
    headers.append(_OCTETS)
    if is_whole:
        return Response(status, first[begin:end], headers)
    headers.append((b"content-length", b"%d" % (end - begin)))
    return StreamingResponse(status, headers, Pieces(lane, _Range(file, begin, end), file.close))


class _Range:
    """Reads a file from `begin` to `end`, or to wherever it ends when `end` is None."""

    def __init__(self, file: OpenFile, begin: int, end: int | None) -> None:
        self._file = file
        self._offset = begin
        self._end = end

    def __call__(self) -> bytes | None:
        length = PIECE if self._end is None else min(PIECE, self._end - self._offset)
        if not length:
            return None
        piece = self._file.read(self._offset, length)
        self._offset += len(piece)
        if piece:
            return piece
        if self._end is None:
            return None
        raise StreamError("the file became shorter while it was sent")


async def send_listing(services: Services, path: str) -> Response | StreamingResponse:
    """A directory as a JSON array; a long one in pieces."""
    listing = _Listing(entries(services.workspace, path, ProgressToken()))
    lane = services.file_work.lane(services.workspace.absolute(path))
    answer: Response | StreamingResponse | None = None
    try:
        first = await lane.run(listing) or b""
        if listing.is_over:
            answer = Response.json(first)
        else:
            headers: HeaderList = [(b"content-type", b"application/json")]
            listing.held_back = first
            answer = StreamingResponse(200, headers, Pieces(lane, listing, listing.close))
        return answer
    finally:
        if not isinstance(answer, StreamingResponse):
            lane.close(listing.close)


class _Listing:
    """Batches of entries as the pieces of one JSON array."""

    def __init__(self, batches: Generator[list[FsEntry], None, None]) -> None:
        self._batches = batches
        self.close = batches.close
        self._begun = False
        self.is_over = False
        self.held_back: bytes | None = None
        """A piece that was looked at before the answer began."""

    def __call__(self) -> bytes | None:
        if self.held_back is not None:
            piece, self.held_back = self.held_back, None
            return piece
        if self.is_over:
            return None
        batch = next(self._batches, [])
        self.is_over = len(batch) < BATCH
        items = msgspec.json.encode(batch)[1:-1]
        opening = (b"," if items else b"") if self._begun else b"["
        self._begun = True
        return opening + items + (b"]" if self.is_over else b"")


async def send_archive(services: Services, path: str) -> StreamingResponse:
    """A directory as tar."""
    absolute = services.workspace.absolute(path)
    archive = writer.archive(services.workspace, path, ProgressToken())
    lane = services.file_work.lane(absolute)
    try:
        await lane.run(next, archive)  # what cannot be archived at all is told before the answer begins
    except BaseException:
        lane.close(archive.close)
        raise
    headers: HeaderList = [
        (b"content-type", b"application/x-tar"),
        (b"content-disposition", f"attachment; filename*=UTF-8''{_archive_name(absolute)}".encode()),
    ]
    return StreamingResponse(200, headers, Pieces(lane, lambda: _gathered(archive), archive.close))


def _archive_name(absolute: str) -> str:
    return quote((os.path.basename(os.path.normpath(absolute)) or "root") + ".tar", safe="")


def _gathered(pieces: Iterator[bytes]) -> bytes | None:
    """Headers and small files come in crumbs; one hop between threads should carry more."""
    parts: list[bytes] = []
    size = 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= PIECE:
            break
    return b"".join(parts) if parts else None
