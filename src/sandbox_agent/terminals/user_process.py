"""One process tree that a user has started: pipes or a terminal, output, exit, signals.

The exit is reported after all output that the process itself has written. Processes that it leaves behind
may go on writing; `kill_tree` ends them.
"""

from __future__ import annotations

import asyncio
import os
import signal
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.exit_watch import ExitWatch, ProcessExit, kill_and_reap
from sandbox_agent.bridge.process.spawn import spawn
from sandbox_agent.bridge.process.tree import tags
from sandbox_agent.runtime import descriptors, running_loop
from sandbox_agent.terminals.input_queue import InputQueue
from sandbox_agent.terminals.output_reader import OutputReader
from sandbox_agent.terminals.pty import resize, spawn_in_terminal

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from sandbox_agent.bridge.process.limits import ProcessLimits
    from sandbox_agent.bridge.process.tree.control_group import TreeGroup
    from sandbox_agent.bridge.process.tree.tree_sweeper import TreeSweeper
    from sandbox_agent.terminals.launch import Launch, TerminalSize

    class OutputOwner(Protocol):
        """Gets what the process does. All calls come from the event loop."""

        def on_output(self, stream: str, data: bytes) -> None: ...

        def on_exit(self, exit: ProcessExit) -> None:
            """Called once, after the output of the process."""


# The kernel hands over the last output of a terminal a moment after the exit, and its end after that. If the
# end does not come, because a process of another session has the terminal open, the exit is reported anyway.
_LAST_OUTPUT_S = 1.0
# A process that has got SIGKILL has exited by then. What is left of its tree is searched for in any case.
_KILLED_S = 0.1


class UserProcess:
    def __init__(
        self, launch: Launch, tag: int, owner: OutputOwner, sweeper: TreeSweeper, limits: ProcessLimits
    ) -> None:
        """Start the process. Raises OSError, ValueError or KeyError if it cannot be started."""
        self._loop = running_loop.running_loop()
        self._owner = owner
        self.tag = tag
        self._sweeper = sweeper
        self.group: TreeGroup | None = None
        self.on_reaped: Callable[[int], None] = lambda _: None
        self.exit: ProcessExit | None = None
        self._exit_reported = asyncio.Event()
        self._readers: list[OutputReader] = []
        self._terminal: OutputReader | None = None
        limited, env = limits.limited(launch.argv, {**launch.env, tags.ENV_TAG: str(tag)}, tag)
        argv = tuple(limited)
        if argv != launch.argv or launch.terminal is not None:
            launch.check()  # A shell starts it, which would report a failure as an exit code only.
        if launch.terminal is None:
            spawned = spawn(argv, env, launch.cwd, limits.popen_arguments())
            self.pid = spawned.pid
            stdin, outputs = spawned.stdin, {"stdout": spawned.stdout, "stderr": spawned.stderr}
        else:
            self.pid, master = spawn_in_terminal(
                argv, env, launch.cwd, limits.popen_arguments(), launch.terminal
            )
            stdin, outputs = -1, {"pty": master}
        tags.tag_process(self.pid, tag)
        descriptors.restore_limit_of(self.pid)
        try:
            stdin = os.dup(outputs["pty"]) if stdin < 0 else stdin
            ExitWatch(self._loop, self.pid, self._on_exited)
        except OSError:
            # Out of descriptors: the started process must not stay.
            kill_and_reap(self.pid)
            for fd in (stdin, *outputs.values()):
                if fd >= 0:
                    os.close(fd)
            raise
        self.input = InputQueue(self._loop, stdin)
        for stream, fd in outputs.items():
            self._readers.append(self._reader(stream, fd))
        self._terminal = self._readers[0] if launch.terminal is not None else None

    def _reader(self, stream: str, fd: int) -> OutputReader:
        return OutputReader(
            self._loop, fd, lambda data: self._owner.on_output(stream, data), self._on_output_ended
        )

    def pause_output(self, paused: bool) -> None:
        """Read no output for a while; the process blocks when its pipe is full."""
        for reader in self._readers:
            reader.pause() if paused else reader.resume()

    def resize(self, size: TerminalSize) -> bool:
        """Set the size of the terminal; false if there is none any more."""
        if self._terminal is None or self._terminal.ended:
            return False
        resize(self._terminal.fd, size)
        return True

    # ---- the end -----------------------------------------------------------------------------------------

    def _on_exited(self, exit: ProcessExit) -> None:
        self.exit = exit
        self.on_reaped(self.pid)
        self.input.close("the process is not running")
        for reader in self._readers:
            reader.drain()
        if self._terminal is None or self._terminal.ended:
            self._report_exit()
        else:
            self._terminal.resume()
            self._loop.call_later(_LAST_OUTPUT_S, self._report_exit)

    def _on_output_ended(self) -> None:
        if self.exit is not None and self._terminal is not None:
            self._report_exit()

    def _report_exit(self) -> None:
        if self.exit is not None and not self._exit_reported.is_set():
            self._exit_reported.set()
            self._owner.on_exit(self.exit)

    async def exits_within(self, seconds: float | None) -> bool:
        """Wait for the exit and all output before it."""
        if not self._exit_reported.is_set():
            try:
                await asyncio.wait_for(self._exit_reported.wait(), seconds)
            except TimeoutError:
                return False
        return True

    def terminate(self) -> None:
        """Ask the process to end: SIGTERM, and for a terminal SIGHUP, because shells ignore the former."""
        numbers = [signal.SIGTERM] if self._terminal is None else [signal.SIGTERM, signal.SIGHUP]
        for number in (*numbers, signal.SIGCONT):
            self._signal_groups(number)

    def _signal_groups(self, number: int) -> None:
        """Signal the group of the process, and the one in the foreground of its terminal."""
        if self.exit is not None:
            return  # The number may belong to another process by now.
        groups = {self.pid}
        if self._terminal is not None and not self._terminal.ended:
            try:
                groups.add(os.tcgetpgrp(self._terminal.fd))
            except OSError:
                pass  # No group is in the foreground.
        for group in groups - {0, os.getpgid(0)}:
            try:
                os.killpg(group, number)
            except OSError:
                pass  # It has exited, or belongs to another user.

    async def kill_tree(self) -> None:
        """Send SIGKILL to every process of the tree until none is left; then its output ends."""
        self._signal_groups(signal.SIGKILL)
        await self.exits_within(_KILLED_S)
        await self._sweeper.kill(self.tag, self.group, root_has_exited=self.exit is not None)
        await self.exits_within(_LAST_OUTPUT_S)
        for reader in self._readers:
            reader.drain()
            reader.close()
