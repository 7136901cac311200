"""The part of the file system that hangs together with a path, found without touching the path.

A call to the file system itself would hang with it; the kernel's list of mounts never hangs.
"""

from __future__ import annotations

import os


def fault_domain(path: str, mountinfo: str = "/proc/self/mountinfo") -> str:
    """The mount point that holds `path` by its text. On the root file system every path is its own domain.

    A path there may lead elsewhere through links, so a hanging one says nothing about its neighbours.
    """
    absolute = os.path.normpath(os.path.join("/", path))
    best = "/"
    for mount in _mount_points(mountinfo):
        inside = absolute == mount or absolute.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) > len(best):
            best = mount
    return best if best != "/" else absolute


def _mount_points(mountinfo: str) -> list[str]:
    try:
        with open(mountinfo, encoding="utf-8", errors="surrogateescape") as lines:
            return [_unescaped(line.split(" ")[4]) for line in lines]
    except (OSError, IndexError):
        return []


def _unescaped(field: str) -> str:
    """The kernel writes white space and backslashes as octal escapes."""
    for escape, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(escape, character)
    return field
