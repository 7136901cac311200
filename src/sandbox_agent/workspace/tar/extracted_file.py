"""A regular file of an archive while it is being unpacked."""

from __future__ import annotations

import contextlib
import os
import stat as modes

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.files.temporary_file import TemporaryFile
from sandbox_agent.workspace.files.workspace import displayed
from sandbox_agent.workspace.paths.resolved_path import ResolvedPath
from sandbox_agent.workspace.tar.reader import Member


class ExtractedFile:
    """Written without its name; `complete` gives it the name, `discard` leaves nothing."""

    def __init__(self, resolved: ResolvedPath, member: Member) -> None:
        self.name = member.name
        self._resolved = resolved
        self._member = member
        try:
            existing = resolved.lstat_or_none()
            if resolved.name == "." or (existing is not None and modes.S_ISDIR(existing.st_mode)):
                raise InvalidRequest(
                    f"the entry is a file, but a directory is there: {displayed(member.name)}"
                )
            self._temporary = TemporaryFile(resolved.parent, 0o600)
        except BaseException:
            resolved.close()
            raise

    def write(self, piece: memoryview) -> None:
        self._temporary.write(piece)

    def complete(self) -> None:
        try:
            os.fchmod(self._temporary.fd, self._member.mode)
            with contextlib.suppress(
                OSError, OverflowError, ValueError
            ):  # a time that the system cannot represent
                os.utime(self._temporary.fd, (self._member.modified, self._member.modified))
            try:
                self._temporary.place(self._resolved.name)
            except FileExistsError:
                rename_over(self._resolved, self._temporary.give_name())
                self._temporary.renamed()
        finally:
            self.discard()

    def discard(self) -> None:
        self._temporary.discard()
        self._resolved.close()


def rename_over(resolved: ResolvedPath, temporary: str) -> None:
    """Rename a temporary name over the path; on failure the temporary name is removed."""
    try:
        os.rename(temporary, resolved.name, src_dir_fd=resolved.parent, dst_dir_fd=resolved.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=resolved.parent)
        raise
