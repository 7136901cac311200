"""A directory as a tar stream, in pieces, with the memory of one piece.

Names are relative to the directory; links are kept as links; FIFOs, sockets and devices are left out. A file
that shrinks while it is read is filled with zeros, because its header already has the size. A file without
read permission ends the stream with an error: an incomplete archive never looks complete.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Generator, Iterator
from tarfile import TarInfo

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files.directory_trees import refuse_too_deep
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.paths.open_flags import READ_DIRECTORY, READ_FILE
from sandbox_agent.workspace.paths.os_errors import map_os_errors

BLOCK = 512
_PIECE = 1 << 18
_END = bytes(2 * BLOCK)


def archive(workspace: Workspace, path: str, progress: ProgressToken) -> Generator[bytes, None, None]:
    """The pieces of the archive; the first `next` fails if the path cannot be archived at all."""
    absolute = workspace.absolute(path)
    with workspace.resolve(absolute, follow=True) as resolved, map_os_errors(absolute):
        found = resolved.lstat()
        if modes.S_ISDIR(found.st_mode):
            directory = os.open(resolved.name, READ_DIRECTORY, dir_fd=resolved.parent)
            try:
                yield b""
                yield from _inside(directory, "", progress, 0)
            finally:
                os.close(directory)
        elif modes.S_ISREG(found.st_mode):
            yield b""
            yield from _file(resolved.parent, resolved.name, os.path.basename(absolute), progress)
        else:
            raise InvalidRequest(f"path is neither a directory nor a file: {absolute}")
        yield _END


def _inside(directory: int, prefix: str, progress: ProgressToken, depth: int) -> Iterator[bytes]:
    refuse_too_deep(depth)
    with os.scandir(directory) as names:
        for entry in names:
            progress.advance()
            name = prefix + entry.name
            try:
                found = entry.stat(follow_symlinks=False)
                if modes.S_ISLNK(found.st_mode):
                    yield _header(name, found, link=os.readlink(entry.name, dir_fd=directory))
                elif modes.S_ISREG(found.st_mode):
                    yield from _file(directory, entry.name, name, progress)
                elif modes.S_ISDIR(found.st_mode):
                    inner = os.open(entry.name, READ_DIRECTORY, dir_fd=directory)
                    try:
                        yield _header(name + "/", found)
                        yield from _inside(inner, name + "/", progress, depth + 1)
                    finally:
                        os.close(inner)
            except FileNotFoundError:
                continue  # removed since the directory was read


def _file(directory: int, entry: str, name: str, progress: ProgressToken) -> Iterator[bytes]:
    fd = os.open(entry, READ_FILE, dir_fd=directory)
    try:
        found = os.fstat(fd)
        if not modes.S_ISREG(found.st_mode):
            return  # replaced since its stat
        yield _header(name, found)
        left = found.st_size
        while left:
            progress.advance()
            piece = os.read(fd, min(left, _PIECE)) or bytes(min(left, _PIECE))
            left -= len(piece)
            yield piece
        if found.st_size % BLOCK:
            yield bytes(-found.st_size % BLOCK)
    finally:
        os.close(fd)


def _header(name: str, found: os.stat_result, link: str = "") -> bytes:
    info = TarInfo(name)
    info.mode = modes.S_IMODE(found.st_mode) & 0o777
    info.mtime = int(found.st_mtime)
    if link:
        info.type, info.linkname = b"2", link
    elif name.endswith("/"):
        info.type = b"5"
    else:
        info.size = found.st_size
    return info.tobuf(format=1, errors="surrogateescape")  # GNU: long names and sizes, names as bytes
