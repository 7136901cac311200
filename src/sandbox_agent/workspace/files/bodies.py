"""Bodies of the file endpoints. The OpenAPI schemas are generated from them."""

from __future__ import annotations

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
    """The unpacked paths, at most 1024; `truncated` says whether there are more."""

    paths: list[str]
    truncated: bool
