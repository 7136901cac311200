"""Resolution of the paths of requests.

Absolute paths are used as they are; relative ones start at the home directory, or at the root if one is set,
and must not contain `..`. With a root everything outside it is refused, also through links. The home
directory, the root, `/` and the directories above them are protected from deleting and moving.
"""

from __future__ import annotations

import os

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.paths.os_errors import map_os_errors
from sandbox_agent.workspace.paths.resolved_path import ResolvedPath
from sandbox_agent.workspace.paths.root import Root


class Workspace:
    """The part of the file system that requests may use."""

    def __init__(self, fs_root: str | None = None, home: str | None = None, cwd: str | None = None) -> None:
        """
        Raises:
            OSError: `fs_root` is not a directory that can be opened.
        """
        self.bounded = fs_root is not None
        self.root = Root(fs_root if fs_root is not None else "/")
        self._given_root = os.path.abspath(fs_root) if fs_root is not None else "/"
        self.home = os.path.abspath(home if home is not None else os.path.expanduser("~"))
        self.cwd = os.path.abspath(cwd if cwd is not None else os.getcwd())

    def close(self) -> None:
        self.root.close()

    def absolute(self, path: str) -> str:
        """The absolute form of a request's path, as it appears in responses.

        Raises:
            InvalidRequest: NUL, not UTF-8, or `..` in a relative path.
        """
        _check_text(path)
        if path.startswith("/"):
            return self._with_real_root(_without_trailing_slash(path))
        if ".." in path.split("/"):
            raise InvalidRequest(f"invalid relative path: {path}")
        base = self.root.path if self.bounded else self.home
        return _without_trailing_slash(os.path.join(base, path)) if path else base

    def absolute_directory(self, directory: str) -> str:
        """The absolute form of a config `directory`: relative ones start at the working directory."""
        _check_text(directory)
        base = self.root.path if self.bounded else self.cwd
        return self._with_real_root(_without_trailing_slash(os.path.join(base, directory)))

    def resolve(self, absolute: str, *, follow: bool, make_parents: bool = False) -> ResolvedPath:
        """Open the parent directories of an absolute path.

        Raises:
            SandboxAgentError: the path cannot be reached.
        """
        with map_os_errors(absolute):
            return self.root.walk(self.root.relative(absolute), follow=follow, make_parents=make_parents)

    def refuse_protected_name(self, absolute: str) -> None:
        """Refuse `/` and the home directory by name: also when the root does not contain them."""
        if os.path.normpath(absolute).replace("//", "/") in ("/", self.home):
            raise InvalidRequest(f"path is protected: {absolute}")

    def refuse_protected(self, resolved: ResolvedPath, absolute: str) -> None:
        """Refuse to delete, move or replace the home directory, the root and their parents."""
        found = resolved.lstat_or_none()
        if found is None:
            return
        for protected in (self.home, self.root.path):
            while True:
                try:
                    stat = os.stat(protected)
                except OSError:
                    stat = None
                if stat is not None and os.path.samestat(stat, found):
                    raise InvalidRequest(f"path is protected: {absolute}")
                if protected == "/":
                    break
                protected = os.path.dirname(protected)

    def _with_real_root(self, absolute: str) -> str:
        """Replace the root as the operator wrote it, possibly through links, by its real path."""
        if self.bounded and self._given_root != self.root.path:
            if absolute == self._given_root or absolute.startswith(self._given_root + "/"):
                return self.root.path + absolute[len(self._given_root) :]
        return absolute


def displayed(path: str) -> str:
    """A name from disk as text that JSON can carry; bytes that are not UTF-8 become U+FFFD."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _check_text(path: str) -> None:
    if "\0" in path:
        raise InvalidRequest("the path contains a NUL character")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise InvalidRequest("the path is not valid Unicode") from None


def _without_trailing_slash(path: str) -> str:
    return path.rstrip("/") or "/"


def refuse_blank(path: str, name: str) -> None:
    """Refuse a path of a request that is empty or white space."""
    if not path.strip():
        raise InvalidRequest(f"'{name}' must not be blank")
