"""A process of the sandbox: its output, its input and its end."""

from __future__ import annotations

import asyncio
import codecs
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Literal

import msgspec

from sandbox_agent.sdk.errors import NotFoundError
from sandbox_agent.sdk.resources.processes.output_follower import OutputFollower
from sandbox_agent.sdk.resources.processes.process_models import ProcessInfo, ProcessOutput
from sandbox_agent.sdk.transport.http_api import HttpApi, segment

# Input is sent in pieces below the limit of one request (`maxInputBytesPerRequest`).
INPUT_PIECE_BYTES = 48 * 1024


class AsyncProcessInput:
    """The standard input of a process."""

    def __init__(self, api: HttpApi, path: str) -> None:
        self._api = api
        self._path = f"{path}/input"

    async def write(self, data: str | bytes) -> None:
        """Write all of `data`; waits while the process does not read."""
        rest = data.encode() if isinstance(data, str) else data
        for start in range(0, len(rest), INPUT_PIECE_BYTES):
            piece = rest[start : start + INPUT_PIECE_BYTES]
            await self._send({"data": b64encode(piece).decode()})

    async def close(self) -> None:
        """Tell the process that no more input comes."""
        await self._send({"data": "", "close": True})

    async def _send(self, body: dict[str, object]) -> None:
        await self._api.request("POST", self._path, json=body, once=True)


class AsyncProcess:
    """One process. `async for line in process` reads stdout and stderr, line by line, to the end."""

    def __init__(self, api: HttpApi, info: ProcessInfo) -> None:
        self._api = api
        self._path = f"/v1/processes/{segment(info.id)}"
        self.id: str = info.id
        self.info: ProcessInfo = info
        """The state when it was last asked for; `refresh` asks again."""
        self.stdin = AsyncProcessInput(api, self._path)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} {self.info.status}: {self.info.command_line}>"

    async def refresh(self) -> ProcessInfo:
        """Ask for the current state."""
        answer = await self._api.request("GET", self._path)
        self.info = msgspec.json.decode(answer.content, type=ProcessInfo)
        return self.info

    async def __aiter__(self) -> AsyncIterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        async with aclosing(self.output()) as outputs:
            async for output in outputs:
                *lines, rest = (rest + decoder.decode(output.data)).split("\n")
                for line in lines:
                    yield line.removesuffix("\r")
        if rest := rest + decoder.decode(b"", True):
            yield rest

    async def output(
        self, *, since: int = 0, stream: Literal["stdout", "stderr"] | None = None
    ) -> AsyncGenerator[ProcessOutput, None]:
        """Output with a `sequence` above `since`, kept and new, as bytes, until the process has exited."""
        follower = OutputFollower(self._api, f"{self._path}/logs", since=since, stream=stream)
        async with aclosing(follower.follow()) as outputs:
            async for output in outputs:
                yield output

    async def wait(self, timeout: float | None = None) -> ProcessInfo:  # noqa: ASYNC109 - the limit of the server, too
        """Wait for the exit and return how it ended; raises `TimeoutError` after `timeout` seconds."""
        async with asyncio.timeout(timeout):
            # The end of the event stream tells the exit; `since` skips what is there already.
            async with aclosing(self.output(since=2**62)) as outputs:
                async for _ in outputs:
                    pass
            return await self.refresh()

    async def stop(self, *, timeout: float = 5.0) -> ProcessInfo:  # noqa: ASYNC109 - the limit of the server, too
        """Ask the process to end (SIGTERM), and kill its tree if it has not after `timeout` seconds."""
        return await self._end("stop", timeout, escalate=True)

    async def kill(self, *, timeout: float = 2.0) -> ProcessInfo:  # noqa: ASYNC109 - the limit of the server, too
        """Send SIGKILL to the whole tree and wait up to `timeout` seconds."""
        return await self._end("kill", timeout)

    async def _end(self, how: str, timeout: float, *, escalate: bool | None = None) -> ProcessInfo:  # noqa: ASYNC109 - the limit of the server, too
        query = {"waitMs": str(round(timeout * 1000)), "escalate": escalate}
        answer = await self._api.request(
            "POST", f"{self._path}/{how}", query=query, retry=True, timeout_s=timeout + 30
        )
        self.info = msgspec.json.decode(answer.content, type=ProcessInfo)
        return self.info

    async def delete(self) -> None:
        """Kill the process if it runs, and forget its output."""
        try:
            if (await self.refresh()).status == "running":
                await self.kill()
            await self._api.request("DELETE", self._path)
        except NotFoundError:
            return  # It is forgotten already.

    async def resize(self, cols: int, rows: int) -> None:
        """Set the size of a terminal."""
        await self._api.request(
            "POST", f"{self._path}/terminal/resize", json={"cols": cols, "rows": rows}, retry=True
        )
