"""What stat(2) says about a file, in the forms that responses and copies need."""

from __future__ import annotations

import contextlib
import os
import stat as modes
import time
from typing import Literal

from msgspec import UNSET, UnsetType


def entry_type(found: os.stat_result) -> Literal["file", "directory"]:
    return "directory" if modes.S_ISDIR(found.st_mode) else "file"


def mode_text(found: os.stat_result) -> str:
    return f"{modes.S_IMODE(found.st_mode):04o}"


def modified_text(found: os.stat_result) -> str | UnsetType:
    """RFC 3339 with nanoseconds; left out for years that have no four digits."""
    seconds, nanoseconds = divmod(found.st_mtime_ns, 1_000_000_000)
    try:
        t = time.gmtime(seconds)
    except (OverflowError, ValueError, OSError):
        return UNSET
    if not 1 <= t.tm_year <= 9999:
        return UNSET
    return (
        f"{t.tm_year:04}-{t.tm_mon:02}-{t.tm_mday:02}T{t.tm_hour:02}:{t.tm_min:02}:{t.tm_sec:02}"
        f".{nanoseconds:09}+00:00"
    )


def etag_of(found: os.stat_result) -> str:
    """Changes whenever the content does: a write changes times or size, a replacement the inode."""
    return f'"{found.st_ino:x}-{found.st_size:x}-{found.st_mtime_ns:x}-{found.st_ctime_ns:x}"'


def copy_owner_and_mode(found: os.stat_result, fd: int) -> None:
    """Give an open file the mode of another one, and its owner where that is permitted."""
    with contextlib.suppress(PermissionError):
        os.fchown(fd, found.st_uid, found.st_gid)
    os.fchmod(fd, modes.S_IMODE(found.st_mode))
