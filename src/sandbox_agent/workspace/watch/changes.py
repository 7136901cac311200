"""The changes of one moment, coalesced: at most one per path."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

ChangeKind = Literal["created", "modified", "deleted", "renamed"]


class FsChange(msgspec.Struct, rename="camel", kw_only=True):
    """One change of a file or directory."""

    path: str
    kind: ChangeKind
    entry_type: Literal["file", "directory"]
    previous_path: Annotated[str | UnsetType, Meta(description="Of `renamed`: the path before")] = UNSET


class FsChanges(msgspec.Struct, rename="camel"):
    """The data of an `event: change`."""

    changes: list[FsChange]


# A directory with a million files may be moved in; they would be one event of a hundred megabytes.
MAX_CHANGES = 10_000


class ChangeSet:
    """Collects changes until they are taken."""

    def __init__(self) -> None:
        self._by_path: dict[str, FsChange] = {}
        self._has_too_many = False

    def add(self, change: FsChange) -> None:
        """Merge with an earlier change of the path."""
        if self._has_too_many:
            return
        earlier = self._by_path.pop(change.path, None)
        if earlier is not None:
            if change.kind == "deleted" and earlier.kind == "created":
                return  # It came and went: there is nothing to show.
            if change.kind == "modified" and earlier.kind in ("created", "renamed"):
                change = earlier
            elif change.kind == "created" and earlier.kind == "deleted":
                change.kind = "modified"
        self._by_path[change.path] = change
        if len(self._by_path) > MAX_CHANGES:
            self._by_path.clear()
            self._has_too_many = True

    def take(self) -> tuple[list[FsChange], bool]:
        """The changes, and whether there were so many that none is kept."""
        taken = list(self._by_path.values()), self._has_too_many
        self._by_path.clear()
        self._has_too_many = False
        return taken
