"""Unpacking an uploaded tar so that nothing outside the destination is ever touched.

Members are judged one by one before anything of them is written, and each is reached by walking from the open
destination directory (`Root`), so neither names, nor links of the archive, nor links that were there before
lead out. Files are written beside their name and renamed; what was there is replaced, a link is not followed.
An error stops the work: members before it stay, the one at fault leaves nothing.
"""

from __future__ import annotations

import contextlib
import os
import stat as modes
from collections.abc import Iterator
from dataclasses import dataclass

from sandbox_agent.errors import InvalidRequest, PayloadTooLarge
from sandbox_agent.workspace.files.os_errors import OutsideRoot, telling
from sandbox_agent.workspace.files.progress_token import ProgressToken
from sandbox_agent.workspace.files.root import Place, Root
from sandbox_agent.workspace.files.temporary_file import TemporaryFile, temporary_name
from sandbox_agent.workspace.files.workspace import Workspace, displayed
from sandbox_agent.workspace.tar import decompress, reader
from sandbox_agent.workspace.tar.links import refuse_escaping_link
from sandbox_agent.workspace.tar.reader import Member

MAX_LISTED = 1024  # paths in the answer; all members are unpacked
_SPECIAL = {
    reader.CHARACTER: "a device",
    reader.BLOCK_DEVICE: "a device",
    reader.FIFO: "a FIFO",
}


@dataclass(frozen=True)
class ArchiveLimits:
    """Beyond these an archive is 413. Bytes are counted after decompression, headers included."""

    entries: int = 1_000_000
    total_bytes: int = 64 << 30
    file_bytes: int = 64 << 30


class Extraction:
    """One archive on its way to disk: `begin`, `feed` its bytes, `finish`, and `close` in any case.

    One thread at a time. Each method raises errors of `sandbox_agent.errors`.
    """

    def __init__(self, workspace: Workspace, path: str, limits: ArchiveLimits, pulse: ProgressToken) -> None:
        self._workspace = workspace
        self.destination = workspace.absolute(path)
        self.paths: list[str] = []
        self.truncated = False
        self.pulse = pulse
        self._limits = limits
        self._entries = 0
        self._bytes = 0
        self._first = b""
        self._decompressor: decompress.Decompressor | None = None
        self._reader = reader.TarReader(self)
        self._file: _FileInProgress | None = None
        self._closed_directories: dict[str, int] = {}
        self._opened: Root | None = None

    def begin(self) -> None:
        """Open the destination; it is made if it is missing."""
        self._opened = _open_destination(self._workspace, self.destination)

    def feed(self, data: bytes) -> None:
        """The next bytes of the body; what comes after the end of the archive is ignored."""
        if self._decompressor is None:
            self._first += data
            if len(self._first) < len(decompress.ZSTD_MAGIC):
                return
            data, self._first = self._first, b""
            self._decompressor = decompress.for_first_bytes(data, self._decompressed)
        if not self._reader.ended:
            self._decompressor.feed(data)

    def finish(self) -> None:
        """No more bytes come. None at all are an empty archive."""
        if self._first:
            raise InvalidRequest("the body is not a tar archive")
        if self._decompressor is None:
            return
        if not self._reader.ended:
            self._decompressor.finish()
            self._reader.finish()
        for name, mode in reversed(self._closed_directories.items()):
            with self._telling(name), self._root.walk(name, follow=False) as place:
                _set_directory_mode(place, mode)

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

    # What the tar reader calls.

    def member(self, member: Member) -> None:
        self.pulse.beat()
        self._entries += 1
        if self._entries > self._limits.entries:
            raise PayloadTooLarge(f"more than {self._limits.entries} entries", self._limits.entries)
        if member.size > self._limits.file_bytes and member.kind == reader.REGULAR:
            raise PayloadTooLarge(f"an entry is too large: {displayed(member.name)}", self._limits.file_bytes)
        name = _checked_name(member.name)
        with self._telling(member.name):
            if member.kind == reader.REGULAR:
                self._file = _FileInProgress(self._parent_of(name), member)
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
        with telling(self.destination):
            self._file.write(piece)

    def member_done(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with self._telling(file.name):
                file.complete()

    def _decompressed(self, data: bytes) -> None:
        if self._reader.ended:
            return
        self.pulse.beat()
        self._bytes += len(data)
        if self._bytes > self._limits.total_bytes:
            raise PayloadTooLarge("the unpacked archive is too large", self._limits.total_bytes)
        self._reader.feed(data)

    def _list(self, name: str) -> None:
        if len(self.paths) < MAX_LISTED:
            self.paths.append(displayed(os.path.normpath(os.path.join(self.destination, name))))
        else:
            self.truncated = True

    def _parent_of(self, name: str) -> Place:
        return self._root.walk(name, follow=False, make_parents=True)

    def _make_directory(self, name: str, member: Member) -> None:
        with self._parent_of(name) as place:
            if place.name == ".":
                return  # the destination itself keeps its mode
            existing = place.lstat_or_none()
            if existing is not None and modes.S_ISLNK(existing.st_mode):
                os.unlink(place.name, dir_fd=place.parent)
                existing = None
            if existing is None:
                os.mkdir(place.name, 0o700, dir_fd=place.parent)
            elif not modes.S_ISDIR(existing.st_mode):
                raise InvalidRequest(f"the entry is a directory, but a file is there: {displayed(name)}")
            if member.mode & 0o700 != 0o700:  # it must take the entries inside first
                self._closed_directories[name] = member.mode
            _set_directory_mode(place, member.mode | 0o700)

    def _make_symlink(self, name: str, member: Member) -> None:
        with self._parent_of(name) as place:
            refuse_escaping_link(self._root, place, member.link)
            temporary = temporary_name()
            os.symlink(member.link, temporary, dir_fd=place.parent)
            _rename_over(place, temporary)

    def _make_hard_link(self, name: str, member: Member) -> None:
        target = _checked_name(member.link)
        shown = displayed(f"{name} -> {target}")
        try:
            source = self._root.walk(target, follow=False)
        except FileNotFoundError:
            raise InvalidRequest(f"the hard link leads nowhere: {shown}") from None
        with source, self._parent_of(name) as place:
            found = source.lstat_or_none()
            if found is None:
                raise InvalidRequest(f"the hard link leads nowhere: {shown}")
            if not modes.S_ISREG(found.st_mode):
                raise InvalidRequest(f"a hard link must lead to a file: {shown}")
            temporary = temporary_name()
            os.link(
                source.name,
                temporary,
                src_dir_fd=source.parent,
                dst_dir_fd=place.parent,
                follow_symlinks=False,
            )
            _rename_over(place, temporary)
            with contextlib.suppress(FileNotFoundError):  # rename of two names of one file keeps both
                os.unlink(temporary, dir_fd=place.parent)

    @contextlib.contextmanager
    def _telling(self, name: str) -> Iterator[None]:
        path = displayed(os.path.join(self.destination, name.lstrip("/")))
        try:
            with telling(path):
                try:
                    yield
                except OutsideRoot:
                    raise InvalidRequest(
                        f"the entry leads out of the destination: {displayed(name)}"
                    ) from None
        except ValueError:
            raise InvalidRequest(f"invalid relative path: {displayed(name)}") from None


class _FileInProgress:
    """A regular file of the archive that is being written beside its name."""

    def __init__(self, place: Place, member: Member) -> None:
        self.name = member.name
        self._place = place
        self._member = member
        try:
            existing = place.lstat_or_none()
            if place.name == "." or (existing is not None and modes.S_ISDIR(existing.st_mode)):
                raise InvalidRequest(
                    f"the entry is a file, but a directory is there: {displayed(member.name)}"
                )
            self._temporary = TemporaryFile(place.parent, 0o600)
        except BaseException:
            place.close()
            raise

    def write(self, piece: memoryview) -> None:
        self._temporary.write(piece)

    def complete(self) -> None:
        try:
            os.fchmod(self._temporary.fd, self._member.mode)
            with contextlib.suppress(OSError, OverflowError, ValueError):  # a time the system cannot hold
                os.utime(self._temporary.fd, (self._member.modified, self._member.modified))
            _rename_over(self._place, self._temporary.give_name())
            self._temporary.name = ""
        finally:
            self.discard()

    def discard(self) -> None:
        self._temporary.discard()
        self._place.close()


def _open_destination(workspace: Workspace, absolute: str) -> Root:
    with workspace.place(absolute, follow=True, make_parents=True) as place, telling(absolute):
        with contextlib.suppress(FileExistsError):
            os.mkdir(place.name, dir_fd=place.parent)
        try:
            fd = os.open(
                place.name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.parent
            )
        except NotADirectoryError:
            raise InvalidRequest(f"path is not a directory: {absolute}") from None
        try:
            return Root.of_directory(fd, absolute)
        finally:
            os.close(fd)


def _checked_name(name: str) -> str:
    """A name as the archive has it, if it is relative and goes only downwards."""
    if not name or name.startswith("/") or ".." in name.split("/") or "\0" in name:
        raise InvalidRequest(f"invalid relative path: {displayed(name)}")
    return name


def _rename_over(place: Place, temporary: str) -> None:
    try:
        os.rename(temporary, place.name, src_dir_fd=place.parent, dst_dir_fd=place.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary, dir_fd=place.parent)
        raise


def _set_directory_mode(place: Place, mode: int) -> None:
    """Through an open directory, so that a link put in its place meanwhile is not followed."""
    fd = os.open(place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=place.parent)
    try:
        os.fchmod(fd, mode)
    finally:
        os.close(fd)
