"""Run an installer's command with a time limit and return the last 8 KiB of its output.

The command and all its descendants are killed when the limit is reached, when the caller is cancelled and
when this process dies. Descendants that are still running when the command ends are killed too.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from sandbox_agent.agents.launch.tagged_tree import TaggedTree

TAIL_BYTES = 8192
_POLL_S = 0.5


class CommandFailed(Exception):
    """The command failed; `tail` is the end of its output and the reason."""

    def __init__(self, tail: str) -> None:
        super().__init__(tail)
        self.tail = tail


async def run_command(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], limit_s: float) -> str:
    """The tail of the command's output; raises `CommandFailed` for any end but exit code 0."""
    try:
        tree = TaggedTree()
    except OSError as error:
        raise CommandFailed(f"no process can be started: {error.strerror or error}") from error
    process: asyncio.subprocess.Process | None = None
    try:
        process = await _start(argv, cwd, {**env, **tree.environment})
        tree.adopt(process.pid)
        return await _finish(process, argv[0], limit_s)
    finally:
        await tree.end()
        if process is not None:
            # Shielded, so that a second cancellation cannot leave a zombie.
            await asyncio.shield(process.wait())
        tree.reap()


async def _start(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        raise CommandFailed(f"{argv[0]} cannot be started: {error.strerror or error}") from error


async def _finish(process: asyncio.subprocess.Process, program: str, limit_s: float) -> str:
    output = bytearray()
    try:
        async with asyncio.timeout(limit_s):
            code = await _read_output(process, output)
    except TimeoutError:
        raise CommandFailed(f"{_tail(output)}\n{program} was stopped after {limit_s:.0f} s".strip()) from None
    if code != 0:
        ending = f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"
        raise CommandFailed(f"{_tail(output)}\n{os.path.basename(program)}: {ending}".strip())
    return _tail(output)


async def _read_output(process: asyncio.subprocess.Process, output: bytearray) -> int:
    """Keep the end of the output in `output`; return the exit code."""
    stdout = cast(asyncio.StreamReader, process.stdout)
    while True:
        try:
            async with asyncio.timeout(_POLL_S):
                chunk = await stdout.read(65536)
        except TimeoutError:
            # A background process of the command may keep the output open after the command has ended.
            if process.returncode is not None:
                return process.returncode
            continue
        if not chunk:
            return await process.wait()
        output += chunk
        del output[:-TAIL_BYTES]


def _tail(output: bytearray) -> str:
    return output.decode("utf-8", "replace").strip()
