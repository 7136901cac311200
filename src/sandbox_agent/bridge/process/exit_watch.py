"""Reap a child process when it exits, and tell how it ended."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.exit_descriptor import open_exit_descriptor

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.runtime.running_loop import EventLoop


class ProcessExit:
    """How a process ended."""

    __slots__ = ("code", "signal")

    def __init__(self, wait_status: int) -> None:
        status = os.waitstatus_to_exitcode(wait_status)
        self.code = status if status >= 0 else None
        self.signal = _signal_name(-status) if status < 0 else None

    @property
    def facts(self) -> dict[str, int | str | None]:
        """The exit as responses and messages have it."""
        return {"exitCode": self.code, "signal": self.signal}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


class ExitWatch:
    """Calls `on_exit` once, on the event loop, after it has reaped the child."""

    __slots__ = ("_fd", "_loop", "_on_exit", "_pid")

    def __init__(self, loop: EventLoop, pid: int, on_exit: Callable[[ProcessExit], None]) -> None:
        """Raises OSError if there is no descriptor left."""
        self._loop = loop
        self._pid = pid
        self._on_exit = on_exit
        self._fd = open_exit_descriptor(pid)
        loop.add_reader(self._fd, self._exited)

    def _exited(self) -> None:
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        try:
            _, status = os.waitpid(self._pid, 0)
        except ChildProcessError:
            status = 0  # Another SIGCHLD handler has reaped it; the exit status is unknown.
        self._on_exit(ProcessExit(status))


def kill_and_reap(pid: int) -> None:
    """End a child that has just been started and that nothing watches."""
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
