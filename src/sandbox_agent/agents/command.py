"""Run an installer's command to its end: bounded in time, quiet, with the tail of what it said.

The command runs in a session of its own and is killed with all its children when it takes too long, when
the caller is cancelled, and (on Linux) when this process dies: nothing half-done goes on in the dark.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

TAIL_BYTES = 8192


class CommandFailed(Exception):
    """The command did not do its work; `tail` is what people should read."""

    def __init__(self, tail: str) -> None:
        super().__init__(tail)
        self.tail = tail


async def run_command(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], limit_s: float) -> str:
    """The tail of the command's output; raises `CommandFailed` for any end but exit code 0."""
    try:
        process = await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=env,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_die_with_parent(),
        )
    except OSError as error:
        raise CommandFailed(f"{argv[0]} cannot be started: {error.strerror or error}") from error
    output = bytearray()
    try:
        async with asyncio.timeout(limit_s):
            stdout = cast(asyncio.StreamReader, process.stdout)
            while chunk := await stdout.read(65536):
                output += chunk
                del output[:-TAIL_BYTES]
            code = await process.wait()
    except TimeoutError:
        raise CommandFailed(f"{_tail(output)}\n{argv[0]} was stopped after {limit_s:.0f} s".strip()) from None
    finally:
        await _end(process)
    if code != 0:
        ending = f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"
        raise CommandFailed(f"{_tail(output)}\n{os.path.basename(argv[0])}: {ending}".strip())
    return _tail(output)


async def _end(process: asyncio.subprocess.Process) -> None:
    # The group is swept after a good end as well: installers may leave helpers behind.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    # Shielded, so that a second cancellation cannot leave a zombie.
    await asyncio.shield(process.wait())


def _tail(output: bytearray) -> str:
    return output.decode("utf-8", "replace").strip()


def _die_with_parent() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    # Imported here, before the fork: only installs need it.
    import ctypes

    libc = ctypes.CDLL(None)
    set_parent_death_signal = 1
    return lambda: libc.prctl(set_parent_death_signal, signal.SIGKILL)
