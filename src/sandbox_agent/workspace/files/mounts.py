"""Which file system a path belongs to, found without touching the path.

Asking the file system itself would hang where it hangs; the kernel's list of mounts never does.
"""

from __future__ import annotations

import os


def area_of(path: str, mountinfo: str = "/proc/self/mountinfo") -> str:
    """The mount point that holds `path` by its text. On the root file system every path is its own area.

    A path there may lead elsewhere through links, so one that hangs says nothing about its neighbours.
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
    """Blanks and the like are written as octal escapes."""
    for escape, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(escape, character)
    return field
