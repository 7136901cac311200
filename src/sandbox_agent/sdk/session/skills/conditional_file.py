"""A file of the sandbox that several clients change: written only over the version that was read."""

from __future__ import annotations

from dataclasses import dataclass

from sandbox_agent.sdk.errors import APIStatusError, NotFoundError
from sandbox_agent.sdk.transport.http_api import HttpApi

_PATH = "/v1/fs/file"
_PRECONDITION_FAILED = 412


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The content of a file, and the ETag of this version; None if there is no file."""

    content: bytes = b""
    etag: str | None = None


async def read_version(api: HttpApi, path: str) -> FileVersion:
    """The file as it is now."""
    try:
        answer = await api.request("GET", _PATH, query={"path": path})
    except NotFoundError:
        return FileVersion()
    return FileVersion(answer.content, answer.headers.get("etag", "*"))


async def write_over(api: HttpApi, path: str, known: FileVersion, content: bytes) -> bool:
    """Replace the known version; False if the file has changed since, or exists although it did not."""
    headers = {"if-none-match": "*"} if known.etag is None else {"if-match": known.etag}
    headers["content-type"] = "application/octet-stream"
    try:
        await api.request("PUT", _PATH, query={"path": path}, content=content, headers=headers)
    except APIStatusError as error:
        if error.status_code != _PRECONDITION_FAILED:
            raise
        # A repeated request meets its own result if only the first answer was lost.
        return (await read_version(api, path)).content == content
    return True
