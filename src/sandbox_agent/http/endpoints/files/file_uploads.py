"""Uploads that are written to disk while they arrive: one file, or a tar archive.

The body is read only as fast as the disk takes the bytes, so memory holds one block. A broken upload leaves
the file unchanged; a broken archive keeps its complete entries.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from sandbox_agent.http.conditional import etag_listed
from sandbox_agent.http.messages import Request
from sandbox_agent.http.openapi.operation import HeaderParameter
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.executor.serial_executor import SerialExecutor
from sandbox_agent.workspace.files.atomic_write import AtomicWrite
from sandbox_agent.workspace.files.bodies import FsUploaded, FsWritten
from sandbox_agent.workspace.tar.extraction import ArchiveLimits, Extraction

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

BLOCK = 1 << 18
IF_MATCH = HeaderParameter("If-Match", "Write only over the file with this ETag", '"abc"')
IF_NONE_MATCH = HeaderParameter("If-None-Match", "`*`: write only if there is no file yet", "*")


async def receive_file(request: Request, services: Services, path: str) -> tuple[FsWritten, str]:
    """Write the body to a file. Returns what was written and the new ETag."""
    match = IF_MATCH.read(request)
    none_match = IF_NONE_MATCH.read(request)
    must_not_exist = none_match is not None and none_match.strip() == "*"

    def matches(etag: str | None) -> bool:
        if match is not None and not etag_listed(match, etag):
            return False
        return none_match is None or must_not_exist or not etag_listed(none_match, etag)

    is_conditional = match is not None or (none_match is not None and not must_not_exist)
    write = AtomicWrite(
        services.workspace,
        path,
        condition=matches if is_conditional else None,
        must_not_exist=must_not_exist,
    )
    progress = ProgressToken()
    serial = SerialExecutor(services.file_executor, write.path, progress)
    try:
        await serial.run(write.begin)
        async for block in _blocks(request.stream()):
            await serial.run(write.write, block)
        await serial.run(write.commit, progress)
        return FsWritten(write.path, write.bytes_written), write.etag
    finally:
        serial.close(write.abort)


async def receive_archive(request: Request, services: Services, path: str) -> FsUploaded:
    """Unpack the body below a directory."""
    settings = services.settings
    limits = ArchiveLimits(
        entries=settings.tar_max_entries,
        total_bytes=settings.tar_max_bytes,
        file_bytes=settings.tar_max_bytes,
    )
    progress = ProgressToken()
    extraction = Extraction(services.workspace, path, limits, progress)
    serial = SerialExecutor(services.file_executor, extraction.destination, progress)
    try:
        await serial.run(extraction.begin)
        async for block in _blocks(request.stream()):
            await serial.run(extraction.feed, block)
        await serial.run(extraction.finish)
        return FsUploaded(extraction.paths, extraction.truncated)
    finally:
        serial.close(extraction.close)


async def _blocks(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in larger pieces, because each piece costs a thread switch."""
    held: list[bytes] = []
    size = 0
    async for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= BLOCK:
            yield b"".join(held) if len(held) > 1 else piece
            held, size = [], 0
    if held:
        yield b"".join(held)
