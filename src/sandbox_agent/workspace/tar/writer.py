"""A directory as a tar stream, piece by piece, with the memory of one piece.

Names are relative to the directory; links are kept as links, FIFOs, sockets and devices are left out. A file
that shrinks while it is read is filled up with zeros, as the header has promised its size. What cannot be
read for lack of permission ends the stream with an error: an incomplete archive is never taken for a whole.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.files.directory_trees import OPEN_DIRECTORY, refuse_too_deep
from sandbox_agent.workspace.files.os_errors import telling
from sandbox_agent.workspace.files.progress_token import ProgressToken
from sandbox_agent.workspace.files.workspace import Workspace

if TYPE_CHECKING:
    from tarfile import TarInfo

BLOCK = 512
_PIECE = 1 << 18
_END = bytes(2 * BLOCK)
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def archive(workspace: Workspace, path: str, pulse: ProgressToken) -> Generator[bytes, None, None]:
    """The pieces of the archive; the first `next` fails if the path cannot be archived at all."""
    absolute = workspace.absolute(path)
    with workspace.place(absolute, follow=True) as place, telling(absolute):
        found = place.lstat()
        if modes.S_ISDIR(found.st_mode):
            directory = os.open(place.name, OPEN_DIRECTORY, dir_fd=place.parent)
            try:
                yield b""
                yield from _inside(directory, "", pulse, 0)
            finally:
                os.close(directory)
        elif modes.S_ISREG(found.st_mode):
            yield b""
            yield from _file(place.parent, place.name, os.path.basename(absolute), pulse)
        else:
            raise InvalidRequest(f"path is neither a directory nor a file: {absolute}")
        yield _END


def _inside(directory: int, prefix: str, pulse: ProgressToken, depth: int) -> Iterator[bytes]:
    refuse_too_deep(depth)
    with os.scandir(directory) as names:
        for entry in names:
            pulse.beat()
            name = prefix + entry.name
            try:
                found = entry.stat(follow_symlinks=False)
                if modes.S_ISLNK(found.st_mode):
                    yield _header(name, found, link=os.readlink(entry.name, dir_fd=directory))
                elif modes.S_ISREG(found.st_mode):
                    yield from _file(directory, entry.name, name, pulse)
                elif modes.S_ISDIR(found.st_mode):
                    inner = os.open(entry.name, OPEN_DIRECTORY, dir_fd=directory)
                    try:
                        yield _header(name + "/", found)
                        yield from _inside(inner, name + "/", pulse, depth + 1)
                    finally:
                        os.close(inner)
            except FileNotFoundError:
                continue  # removed since the directory was read


def _file(directory: int, entry: str, name: str, pulse: ProgressToken) -> Iterator[bytes]:
    fd = os.open(entry, _OPEN_FILE, dir_fd=directory)
    try:
        found = os.fstat(fd)
        if not modes.S_ISREG(found.st_mode):
            return  # swapped since it was looked at
        yield _header(name, found)
        left = found.st_size
        while left:
            pulse.beat()
            piece = os.read(fd, min(left, _PIECE)) or bytes(min(left, _PIECE))
            left -= len(piece)
            yield piece
        if found.st_size % BLOCK:
            yield bytes(-found.st_size % BLOCK)
    finally:
        os.close(fd)


def _header(name: str, found: os.stat_result, link: str = "") -> bytes:
    info = _tar_info(name)
    info.mode = modes.S_IMODE(found.st_mode) & 0o777
    info.mtime = int(found.st_mtime)
    if link:
        info.type, info.linkname = b"2", link
    elif name.endswith("/"):
        info.type = b"5"
    else:
        info.size = found.st_size
    return info.tobuf(format=1, errors="surrogateescape")  # GNU: long names and sizes, names as bytes


def _tar_info(name: str) -> TarInfo:
    from tarfile import TarInfo  # 8 ms that only the first download has to pay

    return TarInfo(name)
