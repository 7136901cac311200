"""Which symbolic links of an archive may be created: those that stay inside the destination, for good.

Where a link leads can change when later members arrive, so looking at the moment is not enough: a `..` is
accepted only behind directories that are really there (they are never replaced by links), and every other
name only leads downwards. Then no order of members can make a link that was accepted lead out.
"""

from __future__ import annotations

import os

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.files.os_errors import OutsideRoot
from sandbox_agent.workspace.files.root import Place, Root
from sandbox_agent.workspace.files.workspace import displayed


def refuse_escaping_link(root: Root, place: Place, target: str) -> None:
    """Check the link `target` that is to be made at `place` below `root`.

    Raises:
        InvalidRequest: it leads out, or may do so later.
    """
    refusal = InvalidRequest(
        f"the link leads out of the destination: {displayed(place.name)} -> {displayed(target)}"
    )
    if not target or target.startswith("/") or "\0" in target:
        raise refusal
    directories = [os.dup(fd) for fd in place.directories]
    try:
        parts = [part for part in target.split("/") if part not in ("", ".")]
        last_up = max((index for index, part in enumerate(parts) if part == ".."), default=-1)
        for part in parts[: last_up + 1]:
            if part != "..":
                try:
                    directories.append(
                        os.open(
                            part,
                            os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC,
                            dir_fd=directories[-1],
                        )
                    )
                except OSError:
                    raise refusal from None
            elif len(directories) == 1:
                raise refusal
            else:
                os.close(directories.pop())
        _refuse_way_out(root, directories, parts[last_up + 1 :], refusal)
    finally:
        for fd in directories:
            os.close(fd)


def _refuse_way_out(root: Root, directories: list[int], names: list[str], refusal: InvalidRequest) -> None:
    """Follow what is on disk already: a link that was there before may lead out."""
    try:
        root.walk_from(directories, "/".join(names), follow=True).close()
    except OutsideRoot:
        raise refusal from None
    except OSError:
        return  # it leads nowhere yet; every link made later is checked on its own
