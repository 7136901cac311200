"""stat and directory listings.

A listing comes in batches, so that a directory with a million names costs the memory of one batch.
"""

from __future__ import annotations

import os
import stat as modes
from collections.abc import Generator

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files.bodies import FsEntry, FsStat
from sandbox_agent.workspace.files.file_metadata import entry_type, mode_text, modified_text
from sandbox_agent.workspace.files.workspace import Workspace, displayed
from sandbox_agent.workspace.paths.open_flags import READ_DIRECTORY
from sandbox_agent.workspace.paths.os_errors import map_os_errors

BATCH = 1000


def stat(workspace: Workspace, path: str) -> FsStat:
    """The file or directory at `path`, links followed."""
    absolute = workspace.absolute(path)
    with workspace.resolve(absolute, follow=False) as link, map_os_errors(absolute):
        is_link = modes.S_ISLNK(link.lstat().st_mode)
    with workspace.resolve(absolute, follow=True) as target, map_os_errors(absolute):
        found = target.lstat()
    return FsStat(
        path=absolute,
        entry_type=entry_type(found),
        size=found.st_size,
        modified=modified_text(found),
        symlink=is_link,
        mode=mode_text(found),
    )


def entries(workspace: Workspace, path: str, progress: ProgressToken) -> Generator[list[FsEntry], None, None]:
    """The entries of a directory in batches; links are reported as links. Close it when leaving early."""
    absolute = workspace.absolute(path)
    directory = _open_directory(workspace, absolute)
    try:
        with map_os_errors(absolute), os.scandir(directory) as scanned:
            batch: list[FsEntry] = []
            for entry in scanned:
                try:
                    found = entry.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue  # removed since the directory was read
                batch.append(
                    FsEntry(
                        name=displayed(entry.name),
                        path=displayed(os.path.join(absolute, entry.name)),
                        entry_type=entry_type(found),
                        size=found.st_size,
                        modified=modified_text(found),
                        symlink=entry.is_symlink(),
                        mode=mode_text(found),
                    )
                )
                if len(batch) == BATCH:
                    progress.advance()
                    yield batch
                    batch = []
            yield batch
    finally:
        os.close(directory)


def _open_directory(workspace: Workspace, absolute: str) -> int:
    with workspace.resolve(absolute, follow=True) as resolved, map_os_errors(absolute):
        if not modes.S_ISDIR(resolved.lstat().st_mode):
            raise InvalidRequest(f"path is not a directory: {absolute}")
        return os.open(resolved.name, READ_DIRECTORY, dir_fd=resolved.parent)
