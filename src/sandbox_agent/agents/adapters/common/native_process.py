"""A vendor's program as a child that speaks lines of JSON: started, read, written to, and surely ended.

It lives in a session of its own and dies with this process. `on_message` gets every JSON object of its
stdout, `on_garbage` every other line. `ended` is done when it is gone; the tail of its stderr is kept.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from sandbox_agent.agents.adapters.common import adapter_errors, process_tree

Message = dict[str, Any]
_LINE_LIMIT = 64 * 1024 * 1024
_STDERR_TAIL = 4000
_POLITE_END_S = 3.0


class NativeProcess:
    """Made by `start`; `stop` may be called any number of times."""

    def __init__(
        self,
        agent: str,
        process: asyncio.subprocess.Process,
        on_message: Callable[[Message], None],
        on_garbage: Callable[[str], None],
    ) -> None:
        self._agent, self._process = agent, process
        self._on_message, self._on_garbage = on_message, on_garbage
        self._stderr = bytearray()
        self.ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._reader = asyncio.create_task(self._read())

    @classmethod
    async def start(
        cls,
        agent: str,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        on_message: Callable[[Message], None],
        on_garbage: Callable[[str], None],
    ) -> NativeProcess:
        """Raises a `RequestError` if the program cannot be started."""
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=cwd,
                env=env,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=_LINE_LIMIT,
                start_new_session=True,
                preexec_fn=_die_with_parent(),
            )
        except OSError as error:
            raise adapter_errors.program_missing(agent, argv[0], error) from error
        return cls(agent, process, on_message, on_garbage)

    @property
    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace").strip()

    def fault(self) -> Exception:
        """The error for whoever waits for something of a program that is gone."""
        return adapter_errors.program_ended(self._agent, self._process.returncode, self.stderr)

    def send(self, message: Message) -> None:
        """Write one line; a program that is gone is noticed by `ended`, not here."""
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data: bytes) -> None:
        stdin = cast(asyncio.StreamWriter, self._process.stdin)
        with suppress(ConnectionError, RuntimeError):
            stdin.write(data)

    def close_input(self) -> None:
        with suppress(ConnectionError, RuntimeError):
            cast(asyncio.StreamWriter, self._process.stdin).close()

    async def stop(self, *, polite_s: float = _POLITE_END_S) -> None:
        """Close its input, wait a little, then end it and everything it has started."""
        tree = process_tree.descendants(self._process.pid)
        self.close_input()
        if polite_s:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self.ended), polite_s)
        tree |= process_tree.descendants(self._process.pid)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        process_tree.kill(tree)
        await asyncio.shield(self.ended)

    async def _read(self) -> None:
        stdout = cast(asyncio.StreamReader, self._process.stdout)
        errors = asyncio.create_task(self._keep_stderr())
        try:
            while line := await stdout.readline():
                self._take(line)
        except (ValueError, ConnectionError) as error:
            self._on_garbage(f"stdout cannot be read any further: {error}")
        finally:
            code = await self._process.wait()
            # A child of the program may hold its stderr open; what it said so far is enough.
            await asyncio.wait([errors], timeout=0.2)
            errors.cancel()
            self.ended.set_result(code)

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if isinstance(message, dict):
            self._on_message(message)
        else:
            self._on_garbage(line.decode("utf-8", "replace").rstrip("\n"))

    async def _keep_stderr(self) -> None:
        stderr = cast(asyncio.StreamReader, self._process.stderr)
        while chunk := await stderr.read(65536):
            self._stderr += chunk
            del self._stderr[:-_STDERR_TAIL]


def _die_with_parent() -> Callable[[], None] | None:
    if sys.platform != "linux":
        return None
    # Imported before the fork: the child must not import anything.
    import ctypes

    libc = ctypes.CDLL(None)
    set_parent_death_signal = 1
    return lambda: libc.prctl(set_parent_death_signal, signal.SIGKILL)
