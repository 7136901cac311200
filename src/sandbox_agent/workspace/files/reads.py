"""Looking at files: stat, directory listings, and open files to read from.

Special files (FIFOs, sockets, devices) are told by their kind before they are opened, and the open itself
neither blocks nor follows a link that was swapped in. A listing comes in batches, so that a directory of a
million names costs the memory of one batch.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Generator

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.files.bodies import FsEntry, FsStat, entry_type, mode_text, modified_text
from sandbox_agent.workspace.files.os_errors import telling
from sandbox_agent.workspace.files.progress_token import ProgressToken
from sandbox_agent.workspace.files.workspace import Workspace, displayed

BATCH = 1000
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC


def stat(workspace: Workspace, path: str) -> FsStat:
    """What is at `path`, links followed."""
    absolute = workspace.absolute(path)
    with workspace.place(absolute, follow=False) as here, telling(absolute):
        is_link = modes.S_ISLNK(here.lstat().st_mode)
    with workspace.place(absolute, follow=True) as target, telling(absolute):
        found = target.lstat()
    return FsStat(
        path=absolute,
        entry_type=entry_type(found),
        size=found.st_size,
        modified=modified_text(found),
        symlink=is_link,
        mode=mode_text(found),
    )


def entries(workspace: Workspace, path: str, pulse: ProgressToken) -> Generator[list[FsEntry], None, None]:
    """The names in a directory, batch by batch; links are reported as links. Close it when done early."""
    absolute = workspace.absolute(path)
    directory = _open_directory(workspace, absolute)
    try:
        with telling(absolute), os.scandir(directory) as names:
            batch: list[FsEntry] = []
            for name in names:
                try:
                    found = name.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # removed since the directory was read
                batch.append(
                    FsEntry(
                        name=displayed(name.name),
                        path=displayed(os.path.join(absolute, name.name)),
                        entry_type=entry_type(found),
                        size=found.st_size,
                        modified=modified_text(found),
                        symlink=name.is_symlink(),
                        mode=mode_text(found),
                    )
                )
                if len(batch) == BATCH:
                    pulse.beat()
                    yield batch
                    batch = []
            yield batch
    finally:
        os.close(directory)


def _open_directory(workspace: Workspace, absolute: str) -> int:
    with workspace.place(absolute, follow=True) as place, telling(absolute):
        if not modes.S_ISDIR(place.lstat().st_mode):
            raise InvalidRequest(f"path is not a directory: {absolute}")
        return os.open(place.name, _READ | os.O_DIRECTORY, dir_fd=place.parent)


class OpenFile:
    """A regular file to read from: `open` it, `read`, and `close` in any case. One thread at a time."""

    def __init__(self, workspace: Workspace, path: str) -> None:
        self._workspace = workspace
        self._fd = -1
        self.path = workspace.absolute(path)
        self.size = 0
        self.etag = ""

    def open(self) -> None:
        with self._workspace.place(self.path, follow=True) as place, telling(self.path):
            _refuse_special(place.lstat(), self.path)
            self._fd = os.open(place.name, _READ, dir_fd=place.parent)
        found = os.fstat(self._fd)
        _refuse_special(found, self.path)
        self.size = found.st_size
        self.etag = etag_of(found)

    def open_and_read(self, limit: int) -> bytes:
        """Open, and read the first `limit` bytes; fewer only when the file is at its end."""
        self.open()
        first = bytearray()
        while len(first) < limit:
            piece = self.read(len(first), limit - len(first))
            if not piece:
                break
            first += piece
        return bytes(first)

    def read(self, offset: int, length: int) -> bytes:
        with telling(self.path):
            return os.pread(self._fd, length, offset)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def etag_of(found: os.stat_result) -> str:
    """Changes whenever the content does: a write changes times or size, a replacement the inode."""
    return f'"{found.st_ino:x}-{found.st_size:x}-{found.st_mtime_ns:x}-{found.st_ctime_ns:x}"'


def _refuse_special(found: os.stat_result, absolute: str) -> None:
    if not modes.S_ISREG(found.st_mode):
        raise InvalidRequest(f"path is not a file: {absolute}")
