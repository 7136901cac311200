"""`client.fs`: files and directories of the sandbox, whole or as streams."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import NotFoundError
from sandbox_agent.sdk.resources import tar_stream
from sandbox_agent.sdk.resources.file_changes import FileChanges, read_changes
from sandbox_agent.sdk.resources.models import FileInfo, UploadResult
from sandbox_agent.sdk.transport.http_api import HttpApi, RemotePath, network_errors

CHUNK_BYTES = 256 * 1024
# A downloaded directory is kept in memory up to this size, then in a temporary file.
SPOOL_BYTES = 8 * 1024 * 1024

LocalPath = str | PathLike[str]
BinaryBody = bytes | IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]
Body = str | BinaryBody
OCTETS = {"content-type": "application/octet-stream"}


class AsyncFiles:
    """Files and directories in the sandbox; relative paths start at its home directory."""

    def __init__(self, api: HttpApi) -> None:
        self._api = api

    async def read(self, path: RemotePath) -> bytes:
        """The whole content of a file."""
        return (await self._api.request("GET", "/v1/fs/file", query={"path": path})).content

    async def read_text(self, path: RemotePath, encoding: str = "utf-8") -> str:
        """The whole content of a text file."""
        return (await self.read(path)).decode(encoding)

    @asynccontextmanager
    async def stream(self, path: RemotePath, *, start: int = 0) -> AsyncIterator[AsyncIterator[bytes]]:
        """Open a file for reading in chunks, from byte `start` on."""
        headers = {"range": f"bytes={start}-"} if start else {}
        async with self._api.open("GET", "/v1/fs/file", query={"path": path}, headers=headers) as response:
            yield _chunks(response.aiter_bytes(CHUNK_BYTES), f"reading {path}")

    @asynccontextmanager
    async def watch(
        self, path: RemotePath | None = None, *, recursive: bool = True, exclude: Iterable[str] = (".git",)
    ) -> AsyncIterator[AsyncIterator[FileChanges]]:
        """Follow the changes in a directory; those after the block was entered are not missed.

        Directories named in `exclude` are left out at any depth. The iterator ends with the directory
        and when the block is left.
        """
        query = {"path": path, "recursive": recursive, "exclude": ",".join(exclude) or None}
        async with self._api.open("GET", "/v1/fs/watch", query=query, unlimited=True) as response:
            yield read_changes(response, f"watching {path or 'the home directory'}")

    async def download(self, path: RemotePath, local: LocalPath) -> int:
        """Copy a file from the sandbox to this machine; returns its size."""
        size = 0
        with await asyncio.to_thread(open, Path(local), "wb") as target:
            async with self.stream(path) as chunks:
                async for chunk in chunks:
                    size += await asyncio.to_thread(target.write, chunk)
        return size

    async def write(self, path: RemotePath, data: Body) -> int:
        """Write a file and its parents; takes bytes, text, an open file or an iterable of bytes."""
        body = data.encode() if isinstance(data, str) else data
        content = body if isinstance(body, bytes) else _async_body(body)
        answer = await self._api.request(
            "PUT", "/v1/fs/file", query={"path": path}, content=content, headers=OCTETS
        )
        return int(_json(answer.content)["bytesWritten"])

    async def write_text(self, path: RemotePath, text: str, encoding: str = "utf-8") -> int:
        """Write a text file."""
        return await self.write(path, text.encode(encoding))

    async def upload(self, local: LocalPath, path: RemotePath) -> int:
        """Copy a file from this machine into the sandbox; returns its size."""
        with await asyncio.to_thread(open, Path(local), "rb") as source:
            return await self.write(path, source)

    async def list(self, path: RemotePath | None = None) -> list[FileInfo]:
        """The entries of a directory, not recursive."""
        answer = await self._api.request("GET", "/v1/fs/entries", query={"path": path})
        return [FileInfo.from_json(entry) for entry in _json(answer.content)]

    async def stat(self, path: RemotePath) -> FileInfo:
        """Type, size and modification time of a path."""
        answer = await self._api.request("GET", "/v1/fs/stat", query={"path": path})
        return FileInfo.from_json(_json(answer.content))

    async def exists(self, path: RemotePath) -> bool:
        """Whether the path exists."""
        try:
            await self.stat(path)
        except NotFoundError:
            return False
        return True

    async def mkdir(self, path: RemotePath) -> str:
        """Create a directory and its parents; returns the absolute path."""
        answer = await self._api.request("POST", "/v1/fs/mkdir", query={"path": path}, retry=True)
        return str(_json(answer.content)["path"])

    async def move(self, source: RemotePath, target: RemotePath, *, overwrite: bool = False) -> str:
        """Move or rename; returns the absolute target."""
        body = {"from": fspath(source), "to": fspath(target), "overwrite": overwrite}
        return str(_json((await self._api.request("POST", "/v1/fs/move", json=body)).content)["to"])

    async def delete(self, path: RemotePath, *, recursive: bool = False) -> str:
        """Delete a file, link or directory; returns the absolute path."""
        query = {"path": path, "recursive": recursive or None}
        return str(_json((await self._api.request("DELETE", "/v1/fs/entry", query=query)).content)["path"])

    async def upload_tar(self, tar: BinaryBody, path: RemotePath | None = None) -> UploadResult:
        """Extract a tar in the sandbox, below `path`."""
        content = tar if isinstance(tar, bytes) else _async_body(tar)
        answer = await self._api.request(
            "POST",
            "/v1/fs/upload-batch",
            query={"path": path},
            content=content,
            headers={"content-type": "application/x-tar"},
            timeout_s=600.0,
        )
        data = _json(answer.content)
        return UploadResult(list(data["paths"]), bool(data["truncated"]))

    async def upload_dir(
        self, local: LocalPath, path: RemotePath, *, keep: tar_stream.Filter | None = None
    ) -> UploadResult:
        """Copy a directory into the sandbox as one stream; `keep` filters its paths."""
        return await self.upload_tar(tar_stream.pack(Path(local), keep), path)

    async def download_dir(self, path: RemotePath, local: LocalPath) -> None:
        """Copy a directory from the sandbox to this machine."""
        with tempfile.SpooledTemporaryFile(SPOOL_BYTES) as spool:
            try:
                async with self._api.open(
                    "GET", "/v1/fs/download", query={"path": path}, read_timeout=600.0
                ) as response:
                    async for chunk in _chunks(response.aiter_bytes(CHUNK_BYTES), f"downloading {path}"):
                        await asyncio.to_thread(spool.write, chunk)
            except NotFoundError as error:
                if error.details.get("resource") == "path":
                    raise
                # A server without the tar download: copy file by file.
                await self._download_tree(path, Path(local))
                return
            spool.seek(0)
            await asyncio.to_thread(tar_stream.unpack, spool, Path(local))

    async def _download_tree(self, path: RemotePath, local: Path) -> None:
        await asyncio.to_thread(local.mkdir, parents=True, exist_ok=True)
        for entry in await self.list(path):
            if entry.is_dir:
                await self._download_tree(entry.path, local / entry.name)
            else:
                await self.download(entry.path, local / entry.name)


async def _chunks(source: AsyncIterator[bytes], what: str) -> AsyncIterator[bytes]:
    with network_errors(what):
        async for chunk in source:
            yield chunk


async def _async_body(data: IO[bytes] | Iterable[bytes] | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(data, AsyncIterable):
        async for chunk in data:
            yield chunk
    elif (read := getattr(data, "read", None)) is not None:
        while chunk := await asyncio.to_thread(read, CHUNK_BYTES):
            yield chunk
    else:
        iterator = iter(data)
        while (piece := await asyncio.to_thread(next, iterator, None)) is not None:
            yield piece


def _json(content: bytes) -> Any:
    return json_codec.decode(content)
