"""Bodies that go to disk while they arrive: one file, or a tar archive.

The client is read only as fast as the disk takes the bytes, so memory holds one block. An upload that breaks
off leaves the file as it was; an archive keeps the entries that were complete.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from sandbox_agent.http.conditional import etag_listed
from sandbox_agent.http.messages import Request
from sandbox_agent.http.openapi.operation import HeaderParameter
from sandbox_agent.workspace.files.atomic_write import AtomicWrite
from sandbox_agent.workspace.files.bodies import FsUploaded, FsWritten
from sandbox_agent.workspace.files.progress_token import ProgressToken
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

    def wanted(etag: str | None) -> bool:
        if match is not None and not etag_listed(match, etag):
            return False
        return none_match is None or must_not_exist or not etag_listed(none_match, etag)

    is_conditional = match is not None or (none_match is not None and not must_not_exist)
    write = AtomicWrite(
        services.workspace,
        path,
        condition=wanted if is_conditional else None,
        must_not_exist=must_not_exist,
    )
    lane = services.file_work.lane(write.path)
    try:
        await lane.run(write.begin)
        async for block in _blocks(request.stream()):
            await lane.run(write.write, block)
        await lane.run(write.commit, ProgressToken())
        return FsWritten(write.path, write.bytes_written), write.etag
    finally:
        lane.close(write.abort)


async def receive_archive(request: Request, services: Services, path: str) -> FsUploaded:
    """Unpack the body below a directory."""
    settings = services.settings
    limits = ArchiveLimits(
        entries=settings.tar_max_entries,
        total_bytes=settings.tar_max_bytes,
        file_bytes=settings.tar_max_bytes,
    )
    pulse = ProgressToken()
    extraction = Extraction(services.workspace, path, limits, pulse)
    lane = services.file_work.lane(extraction.destination)
    try:
        await lane.run(extraction.begin)
        async for block in _blocks(request.stream()):
            await lane.run(_feed, extraction, block, pulse)
        await lane.run(_finish, extraction, pulse)
        return FsUploaded(extraction.paths, extraction.truncated)
    finally:
        lane.close(extraction.close)


def _feed(extraction: Extraction, block: bytes, pulse: ProgressToken) -> None:
    """`pulse` is named so that the time limit sees how the extraction gets ahead."""
    extraction.feed(block)


def _finish(extraction: Extraction, pulse: ProgressToken) -> None:
    extraction.finish()


async def _blocks(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The same bytes in larger pieces: each costs a hop to a thread and back."""
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
