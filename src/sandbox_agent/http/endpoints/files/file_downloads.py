"""Responses that are read from disk while they are sent: a file, a long listing, a directory as tar.

Each holds one piece in memory. `Pieces.aclose` closes the open files, also when the client disconnects. A
file that becomes shorter while it is sent breaks the connection, so that it does not look complete.
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
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.executor.serial_executor import SerialExecutor
from sandbox_agent.workspace.files.bodies import FsEntry
from sandbox_agent.workspace.files.listing import BATCH, entries
from sandbox_agent.workspace.files.open_file import OpenFile
from sandbox_agent.workspace.tar import writer

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

PIECE = 1 << 18
WHOLE = 1 << 16  # files up to this size are read in the step that opens them
_OCTETS = (b"content-type", b"application/octet-stream")


class Pieces:
    """The pieces of a body, each read in a thread by `step`, which returns None at the end.

    This is not an async generator, because the `finally` of one does not run before its first step.
    """

    def __init__(
        self, serial: SerialExecutor, step: Callable[[], bytes | None], cleanup: Callable[[], None]
    ) -> None:
        self._serial = serial
        self._step = step
        self._cleanup = cleanup

    def __aiter__(self) -> Pieces:
        return self

    async def __anext__(self) -> bytes:
        piece = await self._serial.run(self._step)
        if piece is None:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        self._serial.close(self._cleanup)


async def send_file(request: Request, services: Services, path: str) -> Response | StreamingResponse:
    """A file, or the requested range of it."""
    file = OpenFile(services.workspace, path)
    serial = SerialExecutor(services.file_executor, file.path)
    response: Response | StreamingResponse | None = None
    try:
        first = await serial.run(file.open_and_read, WHOLE + 1)
        response = _file_response(request, file, first, serial)
        return response
    finally:
        if not isinstance(response, StreamingResponse):
            serial.close(file.close)


def _file_response(
    request: Request, file: OpenFile, first: bytes, serial: SerialExecutor
) -> Response | StreamingResponse:
    is_whole = len(first) <= WHOLE
    if not is_whole and file.size <= WHOLE:
        # The process file system reports size 0: the end is known only when it is reached.
        return StreamingResponse(200, [_OCTETS], Pieces(serial, _Range(file, 0, None), file.close))
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
    return StreamingResponse(status, headers, Pieces(serial, _Range(file, begin, end), file.close))


class _Range:
    """Reads a file from `begin` to `end`, or to its end if `end` is None."""

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
    """The entries of a directory as a JSON array; a long one in pieces."""
    progress = ProgressToken()
    listing = _Listing(entries(services.workspace, path, progress))
    serial = SerialExecutor(services.file_executor, services.workspace.absolute(path), progress)
    response: Response | StreamingResponse | None = None
    try:
        first = await serial.run(listing) or b""
        if listing.is_over:
            response = Response.json(first)
        else:
            headers: HeaderList = [(b"content-type", b"application/json")]
            listing.held_back = first
            response = StreamingResponse(200, headers, Pieces(serial, listing, listing.close))
        return response
    finally:
        if not isinstance(response, StreamingResponse):
            serial.close(listing.close)


class _Listing:
    """Batches of entries as the pieces of one JSON array."""

    def __init__(self, batches: Generator[list[FsEntry], None, None]) -> None:
        self._batches = batches
        self.close = batches.close
        self._begun = False
        self.is_over = False
        self.held_back: bytes | None = None
        """The first piece, read before the response started."""

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
    progress = ProgressToken()
    archive = writer.archive(services.workspace, path, progress)
    serial = SerialExecutor(services.file_executor, absolute, progress)
    try:
        await serial.run(
            next, archive
        )  # fails before the response starts if the path cannot be archived at all
    except BaseException:
        serial.close(archive.close)
        raise
    headers: HeaderList = [
        (b"content-type", b"application/x-tar"),
        (b"content-disposition", f"attachment; filename*=UTF-8''{_archive_name(absolute)}".encode()),
    ]
    return StreamingResponse(200, headers, Pieces(serial, lambda: _gathered(archive), archive.close))


def _archive_name(absolute: str) -> str:
    return quote((os.path.basename(os.path.normpath(absolute)) or "root") + ".tar", safe="")


def _gathered(pieces: Iterator[bytes]) -> bytes | None:
    """Join headers and small files to larger pieces, because each piece costs a thread switch."""
    parts: list[bytes] = []
    size = 0
    for piece in pieces:
        parts.append(piece)
        size += len(piece)
        if size >= PIECE:
            break
    return b"".join(parts) if parts else None
