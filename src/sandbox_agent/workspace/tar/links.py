"""The check of symbolic links in an archive: a link must stay inside the destination permanently.

Later members can change the target of a link, so a check at the time of creation is not enough. A `..` is
accepted only behind directories that exist (they are never replaced by links), and every other name leads
downwards. Then no order of members can make an accepted link lead out of the destination.
"""

from __future__ import annotations

import os

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.files.workspace import displayed
from sandbox_agent.workspace.paths.open_flags import PASS_THROUGH
from sandbox_agent.workspace.paths.os_errors import OutsideRoot
from sandbox_agent.workspace.paths.resolved_path import ResolvedPath
from sandbox_agent.workspace.paths.root import Root


def refuse_escaping_link(root: Root, resolved: ResolvedPath, target: str) -> None:
    """Check the link `target` that is to be created at `resolved`, below `root`.

    Raises:
        InvalidRequest: it leads out, or could do so later.
    """
    refusal = InvalidRequest(
        f"the link leads out of the destination: {displayed(resolved.name)} -> {displayed(target)}"
    )
    if not target or target.startswith("/") or "\0" in target:
        raise refusal
    directories = [os.dup(fd) for fd in resolved.directories]
    try:
        parts = [part for part in target.split("/") if part not in ("", ".")]
        last_up = max((index for index, part in enumerate(parts) if part == ".."), default=-1)
        for part in parts[: last_up + 1]:
            if part != "..":
                try:
                    directories.append(os.open(part, PASS_THROUGH, dir_fd=directories[-1]))
                except OSError:
                    raise refusal from None
            elif len(directories) == 1:
                raise refusal
            else:
                os.close(directories.pop())
        _refuse_existing_escape(root, directories, parts[last_up + 1 :], refusal)
    finally:
        for fd in directories:
            os.close(fd)


def _refuse_existing_escape(
    root: Root, directories: list[int], names: list[str], refusal: InvalidRequest
) -> None:
    """Follow the existing links on disk: an older link may lead out."""
    try:
        root.walk_from(directories, "/".join(names), follow=True).close()
    except OutsideRoot:
        raise refusal from None
    except OSError:
        return  # the target does not exist yet; every link created later is checked itself
