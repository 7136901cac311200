"""What `client.fs.watch` yields."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Literal

import httpx
import msgspec

from sandbox_agent.sdk.errors import APIConnectionError
from sandbox_agent.sdk.transport.http_api import network_errors
from sandbox_agent.sdk.transport.streams.sse import FrameDecoder


class FileChange(msgspec.Struct, rename="camel", frozen=True):
    """One change of a file or directory; `previous_path` is set for `renamed`."""

    path: str
    kind: Literal["created", "modified", "deleted", "renamed"]
    entry_type: Literal["file", "directory"]
    previous_path: str | None = None


class FileChanges(msgspec.Struct, frozen=True):
    """Changes that happened at about the same time."""

    changes: list[FileChange]
    lost: bool = False
    """The system has dropped reports: what was read before has to be read again."""


async def read_changes(response: httpx.Response, what: str) -> AsyncIterator[FileChanges]:
    """The changes of an open response, until the watched directory is gone or the response is closed."""
    decoder = FrameDecoder()
    try:
        with network_errors(what):
            async for chunk in response.aiter_bytes():
                for frame in decoder.feed(chunk):
                    if frame.event == "change":
                        yield msgspec.json.decode(frame.data, type=FileChanges)
                    elif frame.event == "overflow":
                        yield FileChanges([], lost=True)
                    elif frame.event == "end":
                        return
    except APIConnectionError:
        if not response.is_closed:  # A broken connection does not close it, the end of `watch` does.
            raise
