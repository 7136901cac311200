"""A path after its directories have been opened: all further work goes through the open parent directory."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(slots=True)
class ResolvedPath:
    """An existing or possible file: its open parent directories and its last component.

    `name` is `.` when the path is the root itself. Use as a context manager: it holds file descriptors.
    """

    directories: list[int]
    name: str
    created: list[tuple[int, str]]
    """Parents created on the way, each as (index of its own parent in `directories`, name)."""

    @property
    def parent(self) -> int:
        return self.directories[-1]

    def lstat(self) -> os.stat_result:
        return os.stat(self.name, dir_fd=self.parent, follow_symlinks=False)

    def lstat_or_none(self) -> os.stat_result | None:
        try:
            return self.lstat()
        except FileNotFoundError:
            return None

    def is_inside(self, directory: os.stat_result) -> bool:
        """Whether `directory` is one of the parents."""
        return any(os.path.samestat(os.fstat(fd), directory) for fd in self.directories)

    def remove_created_parents(self) -> None:
        """Remove the parents created on the way, as far as they are still empty."""
        for index, name in reversed(self.created):
            try:
                os.rmdir(name, dir_fd=self.directories[index])
            except OSError:
                return

    def close(self) -> None:
        directories, self.directories = self.directories, []
        for fd in directories:
            os.close(fd)

    def __enter__(self) -> ResolvedPath:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
