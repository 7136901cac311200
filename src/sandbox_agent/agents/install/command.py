"""Run an installer's command to its end: bounded in time, quiet, with the tail of what it said.

The command is killed with everything it has started when it takes too long, when the caller is cancelled and
when this process dies, and what it leaves running at its end is killed too: nothing goes on in the dark.
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
_QUIET_S = 0.5


class CommandFailed(Exception):
    """The command did not do its work; `tail` is what people should read."""

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
        tree.bury()


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
            code = await _read_to_the_end(process, output)
    except TimeoutError:
        raise CommandFailed(f"{_tail(output)}\n{program} was stopped after {limit_s:.0f} s".strip()) from None
    if code != 0:
        ending = f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"
        raise CommandFailed(f"{_tail(output)}\n{os.path.basename(program)}: {ending}".strip())
    return _tail(output)


async def _read_to_the_end(process: asyncio.subprocess.Process, output: bytearray) -> int:
    """The exit code; the tail of what was said is in `output`."""
    stdout = cast(asyncio.StreamReader, process.stdout)
    while True:
        try:
            async with asyncio.timeout(_QUIET_S):
                chunk = await stdout.read(65536)
        except TimeoutError:
            # A helper that goes on in the background may hold the output open for ever.
            if process.returncode is not None:
                return process.returncode
            continue
        if not chunk:
            return await process.wait()
        output += chunk
        del output[:-TAIL_BYTES]


def _tail(output: bytearray) -> str:
    return output.decode("utf-8", "replace").strip()
