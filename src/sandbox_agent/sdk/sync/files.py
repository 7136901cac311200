"""`client.fs`, from code without an event loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sandbox_agent.sdk.resources.files import AsyncFiles, BinaryBody, Body, LocalPath
from sandbox_agent.sdk.resources.models import FileInfo, UploadResult
from sandbox_agent.sdk.resources.tar_stream import Filter
from sandbox_agent.sdk.sync.portal import Portal


class Files:
    """Files and directories in the sandbox; relative paths start at its home directory."""

    def __init__(self, portal: Portal, files: AsyncFiles) -> None:
        self._portal = portal
        self._files = files

    def read(self, path: str) -> bytes:
        """The whole content of a file."""
        return self._portal.run(self._files.read(path))

    def read_text(self, path: str, encoding: str = "utf-8") -> str:
        """The whole content of a text file."""
        return self._portal.run(self._files.read_text(path, encoding))

    @contextmanager
    def stream(self, path: str, *, start: int = 0) -> Iterator[Iterator[bytes]]:
        """Open a file for reading piece by piece, from byte `start` on."""
        opened = self._files.stream(path, start=start)
        chunks = self._portal.run(opened.__aenter__())
        try:
            yield self._portal.iterate(lambda: chunks)
        finally:
            self._portal.run(opened.__aexit__(None, None, None))

    def download(self, path: str, local: LocalPath) -> int:
        """Copy a file of the sandbox to this machine; returns its size."""
        return self._portal.run(self._files.download(path, local))

    def write(self, path: str, data: Body) -> int:
        """Write a file, parents included; takes bytes, text, an open file or any iterable of bytes."""
        return self._portal.run(self._files.write(path, data))

    def write_text(self, path: str, text: str, encoding: str = "utf-8") -> int:
        """Write a text file."""
        return self._portal.run(self._files.write_text(path, text, encoding))

    def upload(self, local: LocalPath, path: str) -> int:
        """Copy a file of this machine into the sandbox; returns its size."""
        return self._portal.run(self._files.upload(local, path))

    def list(self, path: str | None = None) -> list[FileInfo]:
        """The entries of a directory, not recursive."""
        return self._portal.run(self._files.list(path))

    def stat(self, path: str) -> FileInfo:
        """Kind, size and time of one path."""
        return self._portal.run(self._files.stat(path))

    def exists(self, path: str) -> bool:
        """Whether there is something at the path."""
        return self._portal.run(self._files.exists(path))

    def mkdir(self, path: str) -> str:
        """Make a directory and its parents; returns the absolute path."""
        return self._portal.run(self._files.mkdir(path))

    def move(self, source: str, target: str, *, overwrite: bool = False) -> str:
        """Move or rename; returns the absolute target."""
        return self._portal.run(self._files.move(source, target, overwrite=overwrite))

    def delete(self, path: str, *, recursive: bool = False) -> str:
        """Delete a file, link or directory; returns the absolute path."""
        return self._portal.run(self._files.delete(path, recursive=recursive))

    def upload_tar(self, tar: BinaryBody, path: str | None = None) -> UploadResult:
        """Unpack a tar in the sandbox, below `path`."""
        return self._portal.run(self._files.upload_tar(tar, path))

    def upload_dir(self, local: LocalPath, path: str, *, keep: Filter | None = None) -> UploadResult:
        """Copy a directory into the sandbox as one stream; `keep` may leave paths out."""
        return self._portal.run(self._files.upload_dir(local, path, keep=keep))

    def download_dir(self, path: str, local: LocalPath) -> None:
        """Copy a directory of the sandbox to this machine."""
        self._portal.run(self._files.download_dir(path, local))
