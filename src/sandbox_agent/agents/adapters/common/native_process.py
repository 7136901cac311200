"""A vendor's program as a child process that reads and writes JSON lines.

It runs in a session of its own and is killed when this process dies. `on_message` gets each JSON object of
its stdout, `on_invalid_line` each other line. `ended` completes when it has exited; the end of its stderr is
kept.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from sandbox_agent.agents.adapters.common import adapter_errors
from sandbox_agent.bridge.process.tree import process_table
from sandbox_agent.bridge.process.tree.process_table import Found

Message = dict[str, Any]
_LINE_LIMIT = 64 * 1024 * 1024
_STDERR_TAIL = 4000
_GRACE_S = 3.0


class NativeProcess:
    """Created by `start`; `stop` may be called more than once."""

    def __init__(
        self,
        agent: str,
        process: asyncio.subprocess.Process,
        on_message: Callable[[Message], None],
        on_invalid_line: Callable[[str], None],
    ) -> None:
        self._agent, self._process = agent, process
        self._on_message, self._on_garbage = on_message, on_invalid_line
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
        on_invalid_line: Callable[[str], None],
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
                preexec_fn=_kill_with_parent(),
            )
        except OSError as error:
            raise adapter_errors.program_missing(agent, argv[0], error) from error
        return cls(agent, process, on_message, on_invalid_line)

    @property
    def stderr(self) -> str:
        return self._stderr.decode("utf-8", "replace").strip()

    def exit_error(self) -> Exception:
        """The error for requests to a program that has exited."""
        return adapter_errors.program_ended(self._agent, self._process.returncode, self.stderr)

    def send(self, message: Message) -> None:
        """Write one line; the end of the program is reported by `ended`, not here."""
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data: bytes) -> None:
        stdin = cast(asyncio.StreamWriter, self._process.stdin)
        with suppress(ConnectionError, RuntimeError):
            stdin.write(data)

    def close_input(self) -> None:
        with suppress(ConnectionError, RuntimeError):
            cast(asyncio.StreamWriter, self._process.stdin).close()

    async def stop(self, *, grace_s: float = _GRACE_S) -> None:
        """Close its input, wait `grace_s`, then kill it and all its descendants."""
        tree = self._tree()
        self.close_input()
        if grace_s:
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self.ended), grace_s)
        tree |= self._tree()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        process_table.send_signal(tree, signal.SIGKILL)
        await asyncio.shield(self.ended)

    def _tree(self) -> Found:
        """The program and its living descendants, also those in sessions of their own, as shell tools are."""
        try:
            return process_table.Snapshot().with_descendants([self._process.pid])
        except OSError:
            return {}  # /proc is not mounted.

    async def _read(self) -> None:
        stdout = cast(asyncio.StreamReader, self._process.stdout)
        stderr_reader = asyncio.create_task(self._read_stderr())
        try:
            while line := await stdout.readline():
                self._handle_line(line)
        except (ValueError, ConnectionError) as error:
            self._on_garbage(f"stdout cannot be read any further: {error}")
        finally:
            code = await self._process.wait()
            # A child of the program may keep its stderr open, so the wait for its end is short.
            await asyncio.wait([stderr_reader], timeout=0.2)
            stderr_reader.cancel()
            self.ended.set_result(code)

    def _handle_line(self, line: bytes) -> None:
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

    async def _read_stderr(self) -> None:
        stderr = cast(asyncio.StreamReader, self._process.stderr)
        while chunk := await stderr.read(65536):
            self._stderr += chunk
            del self._stderr[:-_STDERR_TAIL]


def _kill_with_parent() -> Callable[[], None]:
    # Loaded before the fork: between fork and exec the child must not import anything.
    libc = ctypes.CDLL(None)
    set_parent_death_signal = 1
    return lambda: libc.prctl(set_parent_death_signal, signal.SIGKILL)
