"""renameat2: renames that never overwrite, and renames that swap two names in one step.

Where the kernel or file system lacks it, `without_replacing` uses a hard link for files, and a check and a
plain rename for directories; `swap` returns False.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat as modes
from collections.abc import Callable

_NOREPLACE = 1
_EXCHANGE = 2
_UNSUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)

Renameat2 = Callable[[int, bytes, int, bytes, int], int]


def without_replacing(source_fd: int, source: str, target_fd: int, target: str) -> None:
    """Rename, unless something is at `target` already.

    Raises:
        FileExistsError: something is there; nothing was changed.
    """
    if _renameat2(source_fd, source, target_fd, target, _NOREPLACE):
        return
    found = os.stat(source, dir_fd=source_fd, follow_symlinks=False)
    if modes.S_ISDIR(found.st_mode):
        try:
            os.stat(target, dir_fd=target_fd, follow_symlinks=False)
        except FileNotFoundError:
            os.rename(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd)
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
    os.link(source, target, src_dir_fd=source_fd, dst_dir_fd=target_fd, follow_symlinks=False)
    os.unlink(source, dir_fd=source_fd)


def swap(one_fd: int, one: str, other_fd: int, other: str) -> bool:
    """Exchange two names in one step; False where the system cannot."""
    return _renameat2(one_fd, one, other_fd, other, _EXCHANGE)


def _renameat2(source_fd: int, source: str, target_fd: int, target: str, flags: int) -> bool:
    function = _system_call()
    if function is None:
        return False
    if function(source_fd, os.fsencode(source), target_fd, os.fsencode(target), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code))


@functools.cache
def _system_call() -> Renameat2 | None:
    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return None  # the C library lacks it
    function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    function.restype = ctypes.c_int
    call: Renameat2 = function
    return call
