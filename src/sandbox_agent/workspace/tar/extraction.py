"""Unpacking of an uploaded tar that never touches anything outside the destination.

Each member is checked before anything of it is written, and is reached by walking from the open destination
directory (`Root`), so neither names, nor links of the archive, nor existing links lead out. A file gets its
name when it is complete and replaces an existing file in one rename; a link is replaced, not followed. An
error stops the extraction: earlier members stay, the faulty one leaves nothing.
"""

from __future__ import annotations

import contextlib
import os
import stat as modes
from collections.abc import Iterator
from dataclasses import dataclass

from sandbox_agent.errors import InvalidRequest, PayloadTooLarge
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files.temporary_file import temporary_name
from sandbox_agent.workspace.files.workspace import Workspace, displayed
from sandbox_agent.workspace.paths.open_flags import PASS_THROUGH, READ_DIRECTORY
from sandbox_agent.workspace.paths.os_errors import OutsideRoot, map_os_errors
from sandbox_agent.workspace.paths.resolved_path import ResolvedPath
from sandbox_agent.workspace.paths.root import Root
from sandbox_agent.workspace.tar import decompress, reader
from sandbox_agent.workspace.tar.extracted_file import ExtractedFile, rename_over
from sandbox_agent.workspace.tar.links import refuse_escaping_link
from sandbox_agent.workspace.tar.reader import Member

MAX_LISTED = 1024  # paths in the response; all members are unpacked
_SPECIAL = {
    reader.CHARACTER: "a device",
    reader.BLOCK_DEVICE: "a device",
    reader.FIFO: "a FIFO",
}


@dataclass(frozen=True)
class ArchiveLimits:
    """An archive beyond these is refused with 413. Bytes are counted after decompression, with headers."""

    entries: int = 1_000_000
    total_bytes: int = 64 << 30
    file_bytes: int = 64 << 30


class Extraction:
    """One archive being unpacked: `begin`, `feed` its bytes, `finish`, and `close` in any case.

    One thread at a time. Each method raises errors of `sandbox_agent.errors`.
    """

    def __init__(
        self, workspace: Workspace, path: str, limits: ArchiveLimits, progress: ProgressToken
    ) -> None:
        self._workspace = workspace
        self.destination = workspace.absolute(path)
        self.paths: list[str] = []
        self.truncated = False
        self.progress = progress
        self._limits = limits
        self._entries = 0
        self._bytes = 0
        self._first = b""
        self._decompressor: decompress.Decompressor | None = None
        self._reader = reader.TarReader(self)
        self._file: ExtractedFile | None = None
        self._closed_directories: dict[str, int] = {}
        self._opened: Root | None = None

    def begin(self) -> None:
        """Open the destination; a missing one is created."""
        self._opened = _open_destination(self._workspace, self.destination)

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the body; bytes after the end of the archive are ignored."""
        if self._decompressor is None:
            self._first += data
            if len(self._first) < len(decompress.ZSTD_MAGIC):
                return
            data, self._first = self._first, b""
            self._decompressor = decompress.for_first_bytes(data, self._decompressed)
        if not self._reader.ended:
            self._decompressor.feed(data)

    def finish(self) -> None:
        """End the archive. An empty body is an empty archive."""
        if self._first:
            raise InvalidRequest("the body is not a tar archive")
        if self._decompressor is None:
            return
        if not self._reader.ended:
            self._decompressor.finish()
            self._reader.finish()
        for name, mode in reversed(self._closed_directories.items()):
            with self._map_errors(name), self._root.walk(name, follow=False) as resolved:
                _set_directory_mode(resolved, mode)

    def close(self) -> None:
        if self._file is not None:
            self._file.discard()
            self._file = None
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def _root(self) -> Root:
        assert self._opened is not None  # noqa: S101 - begin() comes first
        return self._opened

    # Methods of `TarSink`, called by the tar reader.

    def member(self, member: Member) -> None:
        self.progress.advance()
        self._entries += 1
        if self._entries > self._limits.entries:
            raise PayloadTooLarge(f"more than {self._limits.entries} entries", self._limits.entries)
        if member.size > self._limits.file_bytes and member.kind == reader.REGULAR:
            raise PayloadTooLarge(f"an entry is too large: {displayed(member.name)}", self._limits.file_bytes)
        name = _checked_name(member.name)
        with self._map_errors(member.name):
            if member.kind == reader.REGULAR:
                self._file = ExtractedFile(self._parent_of(name), member)
            elif member.kind == reader.DIRECTORY:
                self._make_directory(name, member)
            elif member.kind == reader.SYMLINK:
                self._make_symlink(name, member)
            elif member.kind == reader.HARD_LINK:
                self._make_hard_link(name, member)
            else:
                what = _SPECIAL.get(member.kind, "of a kind that is not supported")
                raise InvalidRequest(f"the entry is {what}: {displayed(member.name)}")
        self._list(name)

    def data(self, piece: memoryview) -> None:
        assert self._file is not None  # noqa: S101 - the reader sends data only after a regular member
        with map_os_errors(self.destination):
            self._file.write(piece)

    def member_done(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with self._map_errors(file.name):
                file.complete()

    def _decompressed(self, data: bytes) -> None:
        if self._reader.ended:
            return
        self.progress.advance()
        self._bytes += len(data)
        if self._bytes > self._limits.total_bytes:
            raise PayloadTooLarge("the unpacked archive is too large", self._limits.total_bytes)
        self._reader.feed(data)

    def _list(self, name: str) -> None:
        if len(self.paths) < MAX_LISTED:
            self.paths.append(displayed(os.path.normpath(os.path.join(self.destination, name))))
        else:
            self.truncated = True

    def _parent_of(self, name: str) -> ResolvedPath:
        return self._root.walk(name, follow=False, make_parents=True)

    def _make_directory(self, name: str, member: Member) -> None:
        with self._parent_of(name) as resolved:
            if resolved.name == ".":
                return  # the destination itself keeps its mode
            existing = resolved.lstat_or_none()
            if existing is not None and modes.S_ISLNK(existing.st_mode):
                os.unlink(resolved.name, dir_fd=resolved.parent)
                existing = None
            if existing is None:
                os.mkdir(resolved.name, 0o700, dir_fd=resolved.parent)
            elif not modes.S_ISDIR(existing.st_mode):
                raise InvalidRequest(f"the entry is a directory, but a file is there: {displayed(name)}")
            if member.mode & 0o700 != 0o700:  # the entries inside are created first
                self._closed_directories[name] = member.mode
            _set_directory_mode(resolved, member.mode | 0o700)

    def _make_symlink(self, name: str, member: Member) -> None:
        with self._parent_of(name) as resolved:
            refuse_escaping_link(self._root, resolved, member.link)
            try:
                os.symlink(member.link, resolved.name, dir_fd=resolved.parent)
            except FileExistsError:
                temporary = temporary_name()
                os.symlink(member.link, temporary, dir_fd=resolved.parent)
                rename_over(resolved, temporary)

    def _make_hard_link(self, name: str, member: Member) -> None:
        target = _checked_name(member.link)
        shown = displayed(f"{name} -> {target}")
        try:
            source = self._root.walk(target, follow=False)
        except FileNotFoundError:
            raise InvalidRequest(f"the hard link leads nowhere: {shown}") from None
        with source, self._parent_of(name) as resolved:
            found = source.lstat_or_none()
            if found is None:
                raise InvalidRequest(f"the hard link leads nowhere: {shown}")
            if not modes.S_ISREG(found.st_mode):
                raise InvalidRequest(f"a hard link must lead to a file: {shown}")
            try:
                _hard_link(source, resolved, resolved.name)
            except FileExistsError:
                temporary = temporary_name()
                _hard_link(source, resolved, temporary)
                rename_over(resolved, temporary)
                with contextlib.suppress(FileNotFoundError):  # rename of two names of one file keeps both
                    os.unlink(temporary, dir_fd=resolved.parent)

    @contextlib.contextmanager
    def _map_errors(self, name: str) -> Iterator[None]:
        path = displayed(os.path.join(self.destination, name.lstrip("/")))
        try:
            with map_os_errors(path):
                try:
                    yield
                except OutsideRoot:
                    raise InvalidRequest(
                        f"the entry leads out of the destination: {displayed(name)}"
                    ) from None
        except ValueError:
            raise InvalidRequest(f"invalid relative path: {displayed(name)}") from None


def _open_destination(workspace: Workspace, absolute: str) -> Root:
    with workspace.resolve(absolute, follow=True, make_parents=True) as resolved, map_os_errors(absolute):
        with contextlib.suppress(FileExistsError):
            os.mkdir(resolved.name, dir_fd=resolved.parent)
        try:
            fd = os.open(resolved.name, PASS_THROUGH, dir_fd=resolved.parent)
        except NotADirectoryError:
            raise InvalidRequest(f"path is not a directory: {absolute}") from None
        try:
            return Root.of_directory(fd, absolute)
        finally:
            os.close(fd)


def _checked_name(name: str) -> str:
    """The name, if it is relative and leads only downwards."""
    if not name or name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise InvalidRequest(f"invalid relative path: {displayed(name)}")
    return name


def _hard_link(source: ResolvedPath, directory: ResolvedPath, name: str) -> None:
    os.link(source.name, name, src_dir_fd=source.parent, dst_dir_fd=directory.parent, follow_symlinks=False)


def _set_directory_mode(resolved: ResolvedPath, mode: int) -> None:
    """Through an open directory, so that a link that replaced it is not followed."""
    fd = os.open(resolved.name, READ_DIRECTORY, dir_fd=resolved.parent)
    try:
        os.fchmod(fd, mode)
    finally:
        os.close(fd)
