"""mkdir and delete.

Delete acts on a link itself. The home directory, the root and `/` are always refused.
"""

from __future__ import annotations

import errno
import os
import stat as modes

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files import directory_trees
from sandbox_agent.workspace.files.workspace import Workspace, refuse_blank
from sandbox_agent.workspace.paths.os_errors import map_os_errors


def mkdir(workspace: Workspace, path: str) -> str:
    """Create a directory and its parents; an existing one is no error. Returns the absolute path."""
    absolute = workspace.absolute(path)
    with workspace.resolve(absolute, follow=True, make_parents=True) as resolved, map_os_errors(absolute):
        try:
            os.mkdir(resolved.name, dir_fd=resolved.parent)
        except FileExistsError:
            if not modes.S_ISDIR(resolved.lstat().st_mode):
                raise InvalidRequest(f"path is not a directory: {absolute}") from None
    return absolute


def delete(workspace: Workspace, path: str, *, recursive: bool, progress: ProgressToken) -> str:
    """Remove a file, a link, an empty directory, or with `recursive` a tree. Returns the absolute path."""
    refuse_blank(path, "path")
    absolute = workspace.absolute(path)
    workspace.refuse_protected_name(absolute)
    with workspace.resolve(absolute, follow=False) as resolved, map_os_errors(absolute):
        found = resolved.lstat()
        if not modes.S_ISDIR(found.st_mode):
            os.unlink(resolved.name, dir_fd=resolved.parent)
            return absolute
        workspace.refuse_protected(resolved, absolute)
        if recursive:
            directory_trees.remove(resolved.parent, resolved.name, progress)
        else:
            try:
                os.rmdir(resolved.name, dir_fd=resolved.parent)
            except OSError as exc:
                if exc.errno in (errno.ENOTEMPTY, errno.EEXIST):
                    raise InvalidRequest(f"directory is not empty: {absolute}") from None
                raise
    return absolute
