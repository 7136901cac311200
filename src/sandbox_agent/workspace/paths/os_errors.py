"""The mapping from errors of the operating system to errors of `sandbox_agent.errors`.

`map_os_errors(path)` wraps file work: an `OSError` inside becomes an error that names the path of the
request. An error code that is not in the tables becomes a `StreamError` with the system's own text.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from sandbox_agent.errors import (
    InvalidRequest,
    NotFound,
    OutOfDescriptors,
    PermissionDenied,
    SandboxAgentError,
    StreamError,
)

_REFUSED = {
    errno.EACCES: "the server's user may not do this",
    errno.EPERM: "the server's user may not do this",
    errno.EROFS: "the file system is read-only",
}
_INVALID = {
    errno.ENOTDIR: "a parent of the path is not a directory",
    errno.EISDIR: "path is a directory",
    errno.ENAMETOOLONG: "the path or a name in it is too long",
    errno.ELOOP: "too many symbolic links",
    errno.ENOTEMPTY: "directory is not empty",
    errno.EEXIST: "path already exists",
    errno.EINVAL: "the file system does not accept this path",
    errno.ENXIO: "path is not a file",
    errno.ETXTBSY: "path is a program that is running",
}


class OutsideRoot(Exception):
    """A path, link or archive entry leads out of the directory that bounds it."""


def error_for(exc: OSError, path: str) -> SandboxAgentError:
    """The error for `exc` at `path`."""
    code = exc.errno
    if code == errno.ENOENT:
        return NotFound.resource("path", path)
    if code in _REFUSED:
        return PermissionDenied(path, _REFUSED[code])
    if code in _INVALID:
        return InvalidRequest(f"{_INVALID[code]}: {path}")
    if code in (errno.EMFILE, errno.ENFILE):
        return OutOfDescriptors()
    return StreamError(f"{path}: {os.strerror(code) if code else exc}")


@contextmanager
def map_os_errors(path: str) -> Iterator[None]:
    """Replace system errors inside the block by errors about `path`."""
    try:
        yield
    except OutsideRoot:
        raise PermissionDenied(path, "the path leads out of the file root (--fs-root)") from None
    except OSError as exc:
        raise error_for(exc, path) from exc
