"""What the file endpoints say and take, as typed bodies. They also give the OpenAPI schemas."""

from __future__ import annotations

import os
import stat as modes
import time
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

Modified = Annotated[
    str, Meta(description="RFC 3339, nanoseconds, UTC", examples=["2026-01-02T03:04:05.678901234+00:00"])
]
Mode = Annotated[str, Meta(description="Permission bits, octal", pattern="^[0-7]{4}$", examples=["0644"])]


class FsStat(msgspec.Struct, rename="camel", kw_only=True):
    """One file or directory."""

    path: str
    entry_type: Literal["file", "directory"]
    size: Annotated[int, Meta(ge=0)]
    modified: Modified | UnsetType = UNSET
    symlink: bool
    mode: Mode


class FsEntry(msgspec.Struct, rename="camel", kw_only=True):
    """One line of a directory listing; links are not followed."""

    name: str
    path: str
    entry_type: Literal["file", "directory"]
    size: Annotated[int, Meta(ge=0)]
    modified: Modified | UnsetType = UNSET
    symlink: bool
    mode: Mode


class FsWritten(msgspec.Struct, rename="camel"):
    path: str
    bytes_written: Annotated[int, Meta(ge=0)]


class FsPath(msgspec.Struct):
    path: str


class FsMove(msgspec.Struct):
    """Move `from` to `to`; an existing `to` is replaced only with `overwrite`."""

    source: str = msgspec.field(name="from")
    to: str
    overwrite: bool | None = None


class FsMoved(msgspec.Struct):
    source: str = msgspec.field(name="from")
    to: str


class FsUploaded(msgspec.Struct):
    """What an archive brought; `paths` stops at 1024 and then says so in `truncated`."""

    paths: list[str]
    truncated: bool


def entry_type(found: os.stat_result) -> Literal["file", "directory"]:
    return "directory" if modes.S_ISDIR(found.st_mode) else "file"


def mode_text(found: os.stat_result) -> str:
    return f"{modes.S_IMODE(found.st_mode):04o}"


def modified_text(found: os.stat_result) -> str | UnsetType:
    """Nanoseconds survive only as text; times a calendar with four digits cannot hold are left out."""
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
