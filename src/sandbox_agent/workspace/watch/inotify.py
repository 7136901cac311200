"""inotify(7): the kernel's reports about changes in directories. Python has no module for it."""

from __future__ import annotations

import ctypes
import os
import struct
from dataclasses import dataclass

CREATE, DELETE, MODIFY, ATTRIB = 0x100, 0x200, 0x2, 0x4
MOVED_FROM, MOVED_TO = 0x40, 0x80
DELETE_SELF, MOVE_SELF = 0x400, 0x800
OVERFLOW, IGNORED, IS_DIRECTORY = 0x4000, 0x8000, 0x4000_0000
_ONLY_DIRECTORY = 0x0100_0000
_WATCHED = (
    CREATE | DELETE | MODIFY | ATTRIB | MOVED_FROM | MOVED_TO | DELETE_SELF | MOVE_SELF | _ONLY_DIRECTORY
)
_HEADER = struct.Struct("iIII")
_READ_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class InotifyEvent:
    watch: int
    mask: int
    cookie: int
    """Joins the two halves of a move."""
    name: str


class Inotify:
    """One inotify instance; `fileno` is readable when there are events."""

    def __init__(self) -> None:
        """Raises OSError if the user has too many instances."""
        self._library = ctypes.CDLL(None, use_errno=True)
        self._fd = self._checked(self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))

    def fileno(self) -> int:
        return self._fd

    def add(self, directory: int) -> int:
        """Watch an open directory. Raises OSError: ENOSPC if the user has too many watches."""
        # Through /proc the path cannot be replaced by a link between opening and watching.
        path = f"/proc/self/fd/{directory}".encode()
        return self._checked(self._library.inotify_add_watch(self._fd, path, ctypes.c_uint32(_WATCHED)))

    def remove(self, watch: int) -> None:
        """Without effect if the kernel has removed the watch already."""
        self._library.inotify_rm_watch(self._fd, watch)

    def read(self) -> list[InotifyEvent]:
        """The events that have arrived; does not block."""
        try:
            data = os.read(self._fd, _READ_BYTES)
        except BlockingIOError:
            return []
        events = []
        position = 0
        while position < len(data):
            watch, mask, cookie, length = _HEADER.unpack_from(data, position)
            position += _HEADER.size
            name = data[position : position + length].rstrip(b"\0")
            position += length
            events.append(InotifyEvent(watch, mask, cookie, os.fsdecode(name)))
        return events

    def close(self) -> None:
        os.close(self._fd)

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code))
        return result
