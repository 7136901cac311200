"""Commands in the sandbox of a rollout: before the first prompt, and after the last one for grading.

A command is a process of the server. So it may take longer than one request, a broken connection does not run
it twice, and its background processes run until the end of the rollout and are stopped there.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass

from sandbox_agent.sdk.client.client import AsyncSandboxAgent
from sandbox_agent.sdk.resources.processes.process import AsyncProcess
from sandbox_agent.sdk.resources.processes.process_models import shell_exit_code

TAIL_CHARS = 4000
# The exit code of `timeout` for a command that took too long.
TIMED_OUT = 124
_MAX_CHAR_BYTES = 4
# A command that reads its input finds the end of it.
_SHELL = ("sh", "-c", 'exec sh -c "$0" </dev/null')


@dataclass(frozen=True, slots=True)
class CommandResult:
    exit_code: int
    output: str
    """The end of what the command wrote to stdout and stderr."""
    stdout: str
    """The end of what it wrote to stdout."""


class SandboxCommands:
    """The commands of one rollout, in its working directory."""

    def __init__(self, client: AsyncSandboxAgent, directory: str, limit_s: float) -> None:
        """`limit_s` is for each command."""
        self._client = client
        self._directory = directory
        self._limit_s = limit_s
        self._started: list[AsyncProcess] = []

    async def run(self, command: str) -> CommandResult:
        """Run a shell command to its end; one that takes too long is killed and has exit code 124."""
        process = await self._client.processes.start([*_SHELL, command], cwd=self._directory)
        self._started.append(process)
        both, stdout = _Tail(), _Tail()
        try:
            async with asyncio.timeout(self._limit_s), aclosing(process.output()) as pieces:
                async for piece in pieces:
                    both.add(piece.data)
                    if piece.stream == "stdout":
                        stdout.add(piece.data)
            info = await process.refresh()
            code = shell_exit_code(info.exit_code, info.signal)
        except TimeoutError:
            await process.kill()
            code = TIMED_OUT
        return CommandResult(code, both.text(), stdout.text())

    async def end(self) -> None:
        """Kill what still runs, and what the commands have left in the background."""
        while self._started:
            await self._started.pop().delete()


class _Tail:
    """The end of an output of any length."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, data: bytes) -> None:
        self._kept += data
        del self._kept[: -TAIL_CHARS * _MAX_CHAR_BYTES]

    def text(self) -> str:
        return self._kept.decode("utf-8", "replace")[-TAIL_CHARS:]
