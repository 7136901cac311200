"""Untracked files as patches that add them, because `git diff` leaves them out.

They are opened below the file root: a directory on the way may have become a link since git listed them.
"""

from __future__ import annotations

import os
import stat

from sandbox_agent.errors import NotFound, SandboxAgentError
from sandbox_agent.workspace.files.workspace import Workspace, displayed
from sandbox_agent.workspace.git.bodies import GitFileDiff
from sandbox_agent.workspace.git.repository import Repository

MAX_FILE_BYTES = 4 * 1024 * 1024  # as core.bigFileThreshold in `git_command`
_BINARY_PROBE_BYTES = 8000  # as git: a NUL in the first bytes makes a file binary


def files(repository: Repository, file: str | None, max_bytes: int) -> tuple[list[GitFileDiff], bool]:
    """The untracked files, and whether some are missing because their patches exceed `max_bytes`."""
    arguments = ("ls-files", "--others", "--exclude-standard", "-z", "--", *((file,) if file else ()))
    output, truncated = repository.run("-C", repository.root, *arguments)
    found: list[GitFileDiff] = []
    for name in output.split(b"\0")[:-1]:
        entry = _entry(repository, os.fsdecode(name))
        if entry is None:
            continue
        max_bytes -= len(entry.patch or "")
        if max_bytes < 0:
            return found, True
        found.append(entry)
    return found, truncated


def _entry(repository: Repository, name: str) -> GitFileDiff | None:
    path = displayed(name)
    content, mode = _content(repository.workspace, os.path.join(repository.root, name))
    if mode is None:
        return None  # Removed since it was listed.
    if content is None or b"\0" in content[:_BINARY_PROBE_BYTES]:
        return GitFileDiff(path=path, status="untracked", binary=True)
    text = content.decode("utf-8", "replace")
    lines = text.split("\n")
    ending = "" if lines[-1] == "" else "\n\\ No newline at end of file\n"
    if not ending:
        lines.pop()
    patch = f"diff --git a/{path} b/{path}\nnew file mode {mode}\n"
    if lines:
        patch += f"--- /dev/null\n+++ b/{path}\n@@ -0,0 +1,{len(lines)} @@\n"
        patch += "\n".join("+" + line for line in lines) + (ending or "\n")
    return GitFileDiff(path=path, status="untracked", binary=False, added=len(lines), removed=0, patch=patch)


def _content(workspace: Workspace, path: str) -> tuple[bytes | None, str | None]:
    """The content, None if it is too long or not a file, and the mode as git writes it, None if missing."""
    try:
        with workspace.resolve(path, follow=False) as resolved:
            return _content_at(resolved.name, resolved.parent)
    except (FileNotFoundError, NotFound):
        return None, None
    except (OSError, SandboxAgentError):
        return None, "100644"  # Not readable: listed without a patch.


def _content_at(name: str, directory: int) -> tuple[bytes | None, str]:
    found = os.lstat(name, dir_fd=directory)
    if stat.S_ISLNK(found.st_mode):
        return os.fsencode(os.readlink(name, dir_fd=directory)), "120000"
    mode = "100755" if found.st_mode & stat.S_IXUSR else "100644"
    if not stat.S_ISREG(found.st_mode) or found.st_size > MAX_FILE_BYTES:
        return None, mode
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    with open(os.open(name, flags, dir_fd=directory), "rb") as file:
        return file.read(MAX_FILE_BYTES), mode
