"""An open file to read from.

Special files (FIFOs, sockets, devices) are recognised before they are opened, and the open itself neither
blocks nor follows a link that has replaced the file.
"""

from __future__ import annotations

import os
import stat as modes

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.files.file_metadata import etag_of
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.paths.open_flags import READ_FILE
from sandbox_agent.workspace.paths.os_errors import map_os_errors


class OpenFile:
    """A regular file to read from: `open` it, `read`, and `close` in any case. One thread at a time."""

    def __init__(self, workspace: Workspace, path: str) -> None:
        self._workspace = workspace
        self._fd = -1
        self.path = workspace.absolute(path)
        self.size = 0
        self.etag = ""

    def open(self) -> None:
        with self._workspace.resolve(self.path, follow=True) as resolved, map_os_errors(self.path):
            _refuse_special(resolved.lstat(), self.path)
            self._fd = os.open(resolved.name, READ_FILE, dir_fd=resolved.parent)
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
        with map_os_errors(self.path):
            return os.pread(self._fd, length, offset)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _refuse_special(found: os.stat_result, absolute: str) -> None:
    if not modes.S_ISREG(found.st_mode):
        raise InvalidRequest(f"path is not a file: {absolute}")
