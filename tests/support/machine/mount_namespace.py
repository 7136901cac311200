"""A command in a private mount namespace: everything read-only but one directory, optionally another user.

Generated requests can then do no damage. For another user the interpreter and the packages are made
reachable, also when they are in a directory that only root may enter.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import sandbox_agent

SOURCE = Path(sandbox_agent.__file__).parents[1]


def in_mount_namespace(
    command: list[str], writable: Path, user: int | None = None, cwd: Path | None = None
) -> list[str]:
    """The command line that runs `command` in the namespace, in the directory `cwd` or `writable`."""
    lines = ["set -e", "mount --make-rprivate /"]
    if user is not None:
        lines += _opened_directories(writable)
    lines += [
        f"mount --bind {_quoted(writable)} {_quoted(writable)}",
        # Every mount but the writable one; kernel file systems that refuse are read-only by nature.
        "cut -d' ' -f5 /proc/self/mountinfo | while read -r place; do "
        f'[ "$place" = {_quoted(writable)} ] || mount -o remount,bind,ro "$place" 2>/dev/null || true; done',
        f"cd {_quoted(cwd or writable)}",
    ]
    become = f"setpriv --reuid {user} --regid {user} --clear-groups " if user is not None else ""
    lines.append(f"exec {become}{shlex.join(command)}")
    return ["unshare", "-m", "sh", "-c", "\n".join(lines)]


def _opened_directories(scratch: Path) -> list[str]:
    """Mount an open directory over each closed one, with only the needed directory inside."""
    needed = {Path(sys.base_prefix), Path(sys.prefix), SOURCE}
    lines: list[str] = []
    for number, path in enumerate(sorted(needed)):
        closed = next((p for p in reversed(path.parents) if not os.stat(p).st_mode & 0o001), None)
        if closed is not None:
            kept = scratch / f"needed-{number}"
            lines += [
                f"mkdir -p {_quoted(kept)}",
                f"mount --bind {_quoted(path)} {_quoted(kept)}",
                f"mount -t tmpfs -o mode=755 none {_quoted(closed)}",
                f"mkdir -p {_quoted(path)}",
                f"mount --bind {_quoted(kept)} {_quoted(path)}",
                f"umount {_quoted(kept)}",
                f"rmdir {_quoted(kept)}",
            ]
    return lines


def _quoted(path: Path) -> str:
    return shlex.quote(str(path))
