"""Follows what a container writes: its last lines for error messages, and its end."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator

from sandbox_agent.sdk.errors import SandboxProviderError
from sandbox_agent.sdk.providers.containers.engine_api import EngineApi

log = logging.getLogger("sandbox_agent.server")

TAIL_LINES = 50
_HEADER_BYTES = 8


class ContainerOutput:
    """Attached to a container from its creation on; the stream ends with the container."""

    def __init__(self, api: EngineApi, name: str) -> None:
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self.ended = False
        self._task = asyncio.create_task(self._follow(api, name), name=f"output of {name}")

    def tail(self) -> str:
        return "\n".join(self._tail)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    async def _follow(self, api: EngineApi, name: str) -> None:
        query = {"stream": "1", "stdout": "1", "stderr": "1", "logs": "1"}
        try:
            async with api.stream("POST", f"/containers/{name}/attach", query) as chunks:
                async for text in _frames(chunks):
                    self._tail.extend(text.splitlines())
            self.ended = True
        except SandboxProviderError as error:
            # The engine has stopped, or cannot attach: that says nothing about the container.
            log.debug("the output of %s cannot be followed: %s", name, error)


async def _frames(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Text from the Engine's frames: one byte for the stream, three of zero, four for the length."""
    buffer = b""
    async for chunk in chunks:
        buffer += chunk
        while len(buffer) >= _HEADER_BYTES:
            end = _HEADER_BYTES + int.from_bytes(buffer[4:_HEADER_BYTES], "big")
            if len(buffer) < end:
                break
            yield buffer[_HEADER_BYTES:end].decode("utf-8", "replace")
            buffer = buffer[end:]
