"""Directories as tar streams: packed while they are sent, extracted only below the target.

Packing runs in a thread and waits whenever the network is slower than the disk, so a directory of any size
needs a few hundred KiB of memory.
"""

from __future__ import annotations

import asyncio
import io
import tarfile
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import IO, Any

CHUNK_BYTES = 64 * 1024
QUEUED_CHUNKS = 8

Filter = Callable[[Path], bool]


async def pack(directory: Path, keep: Filter | None = None) -> AsyncIterator[bytes]:
    """The content of `directory` as a tar stream; names are relative to it."""
    queue: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue(QUEUED_CHUNKS)
    stopped = threading.Event()
    writer = _QueueWriter(queue, asyncio.get_running_loop(), stopped)
    packing = asyncio.create_task(asyncio.to_thread(_pack, directory, keep, writer))
    try:
        while True:
            item = await queue.get()
            if item is None:
                return
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stopped.set()
        while not queue.empty():
            queue.get_nowait()
        await asyncio.wait([packing])


def _pack(directory: Path, keep: Filter | None, writer: _QueueWriter) -> None:
    try:
        if not directory.is_dir():
            raise NotADirectoryError(str(directory))
        with tarfile.open(name=None, mode="w|", fileobj=writer, bufsize=CHUNK_BYTES) as tar:
            for path in sorted(directory.rglob("*")):
                if keep is None or keep(path):
                    tar.add(path, arcname=str(path.relative_to(directory)), recursive=False)
    except _Stopped:
        return
    except BaseException as error:  # raised again by the reader
        writer.end(error)
        return
    writer.end(None)


class _Stopped(Exception):
    """The reader has stopped; packing ends."""


class _QueueWriter(io.RawIOBase):
    """A file object that writes to an asyncio queue, for the packing thread."""

    def __init__(
        self,
        queue: asyncio.Queue[bytes | BaseException | None],
        loop: asyncio.AbstractEventLoop,
        stopped: threading.Event,
    ) -> None:
        super().__init__()
        self._queue = queue
        self._loop = loop
        self._stopped = stopped

    def write(self, data: Any) -> int:
        chunk = bytes(data)
        self._put(chunk)
        return len(chunk)

    def end(self, error: BaseException | None) -> None:
        try:
            self._put(error)
        except _Stopped:
            return

    def _put(self, item: bytes | BaseException | None) -> None:
        waiting = asyncio.run_coroutine_threadsafe(self._queue.put(item), self._loop)
        while True:
            try:
                waiting.result(timeout=0.1)
                return
            except TimeoutError:
                if self._stopped.is_set():
                    waiting.cancel()
                    raise _Stopped from None


def unpack(archive: IO[bytes], directory: Path) -> None:
    """Extract a tar into `directory`; entries that point outside are refused."""
    directory.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=archive, mode="r:*") as tar:
        tar.extractall(directory, filter="data")
