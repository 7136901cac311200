"""The config file of a directory: a JSON map from name to entry.

`<directory>/.sandbox-agent/config/<kind>.json`, pretty-printed and sorted by name. Writers take turns, also
between processes, by a lock on the config directory itself, which leaves no lock file; the file is replaced
in one rename. Other entries keep every byte that is not white space. A file that is not a JSON object is
reported and never overwritten.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator

import msgspec

from sandbox_agent.errors import Conflict, InvalidRequest, NotFound
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files.atomic_write import AtomicWrite
from sandbox_agent.workspace.files.open_file import OpenFile
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.paths.os_errors import map_os_errors

CONFIG_DIRECTORY = ".sandbox-agent/config"
FILE_MODE = 0o644  # other users' tools read these files too
MAX_BYTES = 64 << 20  # far above any config; keeps a misplaced large file out of memory
_LOCK_RETRY_S = 0.005

Entries = dict[str, msgspec.Raw]


class ConfigStore:
    """The entries of one kind (`mcp` or `skills`) in any directory of the workspace. Thread-safe."""

    def __init__(self, workspace: Workspace, kind: str) -> None:
        self._workspace = workspace
        self.kind = kind

    def load(self, directory: str) -> Entries:
        """All entries as raw JSON; none when there is no file.

        Raises:
            Conflict: the file is not a JSON object.
        """
        return self._load(self._file(directory))

    def get(self, directory: str, name: str) -> msgspec.Raw:
        try:
            return self.load(directory)[name]
        except KeyError:
            raise NotFound.resource(self.kind, name) from None

    def put(self, directory: str, name: str, entry: bytes, progress: ProgressToken) -> None:
        """Write one entry, whole; the others stay as they are."""
        path = self._file(directory)
        self._make_directory(os.path.dirname(path))
        with self._locked(os.path.dirname(path), progress):
            entries = self._load(path)
            entries[name] = msgspec.Raw(entry)
            self._store(path, entries, progress)

    def delete(self, directory: str, name: str, progress: ProgressToken) -> None:
        """Remove one entry; a missing entry or file changes nothing."""
        path = self._file(directory)
        if name not in self._load(path):
            return
        with self._locked(os.path.dirname(path), progress):
            entries = self._load(path)
            if entries.pop(name, None) is not None:
                self._store(path, entries, progress)

    def _file(self, directory: str) -> str:
        absolute = self._workspace.absolute_directory(directory)
        return os.path.join(absolute, CONFIG_DIRECTORY, f"{self.kind}.json")

    def _load(self, path: str) -> Entries:
        file = OpenFile(self._workspace, path)
        try:
            file.open()
            if file.size > MAX_BYTES:
                raise Conflict(f"{path} is larger than {MAX_BYTES} bytes")
            data = file.read(0, file.size)
        except NotFound:
            return {}
        finally:
            file.close()
        if not data.strip():
            return {}
        try:
            return msgspec.json.decode(data, type=Entries)
        except (msgspec.DecodeError, UnicodeDecodeError) as exc:
            raise Conflict(f"{path} is not a JSON object: {exc}") from None

    def _store(self, path: str, entries: Entries, progress: ProgressToken) -> None:
        text = msgspec.json.format(msgspec.json.encode(dict(sorted(entries.items()))), indent=2)
        file = AtomicWrite(self._workspace, path, mode=FILE_MODE)
        try:
            file.begin()
            file.write(text + b"\n")
            file.commit(progress)
        finally:
            file.abort()

    def _make_directory(self, path: str) -> None:
        with self._workspace.resolve(path, follow=True, make_parents=True) as resolved, map_os_errors(path):
            with contextlib.suppress(FileExistsError):
                os.mkdir(resolved.name, dir_fd=resolved.parent)

    @contextlib.contextmanager
    def _locked(self, path: str, progress: ProgressToken) -> Iterator[None]:
        with self._workspace.resolve(path, follow=True) as resolved, map_os_errors(path):
            try:
                fd = os.open(
                    resolved.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=resolved.parent
                )
            except NotADirectoryError:
                raise InvalidRequest(f"path is not a directory: {path}") from None
        try:
            self._wait_for_lock(fd, progress)
            yield
        finally:
            os.close(fd)

    def _wait_for_lock(self, fd: int, progress: ProgressToken) -> None:
        """Poll instead of blocking in the kernel, so that a cancelled waiter can leave."""
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                progress.check_cancelled()
                time.sleep(_LOCK_RETRY_S)
