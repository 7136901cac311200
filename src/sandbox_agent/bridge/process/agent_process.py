"""One agent process tree: start, input and output, exit, stop.

Its stdin is a `StdinQueue`, its stdout a `StdoutReader`, and the tail of its stderr is kept. The process runs
in a session of its own and has a tag that finds every descendant (`tags`). `stop` always returns, and then no
process of the tree is left: it closes stdin, sends SIGTERM, and sends SIGKILL until none is found.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.exit_watch import ExitWatch, ProcessExit, kill_and_reap
from sandbox_agent.bridge.process.spawn import spawn
from sandbox_agent.bridge.process.tree import tags
from sandbox_agent.bridge.process.tree.tree_sweeper import KILL_LIMIT_S
from sandbox_agent.bridge.stdio.stdin_queue import StdinQueue
from sandbox_agent.bridge.stdio.stdout_reader import READ_BYTES, StdoutReader, read_available
from sandbox_agent.runtime import descriptors, running_loop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Protocol

    from sandbox_agent.bridge.launch_spec import LaunchSpec
    from sandbox_agent.bridge.process.limits import ProcessLimits
    from sandbox_agent.bridge.process.tree.control_group import TreeGroup
    from sandbox_agent.bridge.process.tree.tree_sweeper import TreeSweeper
    from sandbox_agent.bridge.stdio.stdout_reader import StdoutOwner

    class ProcessOwner(StdoutOwner, Protocol):
        """Receives what the process does. All calls come from the event loop."""

        def on_input_closed(self) -> None:
            """The process closed its stdin; queued messages will never be written."""

        def on_exit(self, exit: ProcessExit) -> None:
            """The process has exited. Called once, after all its output has been handed over."""


STDERR_TAIL_BYTES = 64 * 1024
_EOF_GRACE_S, _TERM_GRACE_S = 1.0, 1.0
# An agent that closed its stdout cannot answer any more; it has this long to exit by itself.
_STDOUT_CLOSED_GRACE_S = 1.0


class AgentProcess:
    __slots__ = (
        "_exit_reported",
        "_exit_waiters",
        "_loop",
        "_owner",
        "_sigterm_at_once",
        "_stderr",
        "_stderr_fd",
        "_stdout",
        "_stdout_closed_timer",
        "_sweeper",
        "_tag",
        "exit",
        "group",
        "input",
        "on_reaped",
        "on_unowned_exit",
        "pid",
    )

    def __init__(
        self,
        spec: LaunchSpec,
        tag: int,
        max_line_bytes: int,
        owner: ProcessOwner,
        sweeper: TreeSweeper,
        limits: ProcessLimits,
    ) -> None:
        """Start the process. Raises OSError, ValueError or KeyError if it cannot be started."""
        self._loop = running_loop.running_loop()
        self._owner = owner
        self._tag = tag
        self._sweeper = sweeper
        self._sigterm_at_once = spec.sigterm_at_once
        self.group: TreeGroup | None = None
        self._stderr = bytearray()
        self._stdout_closed_timer: running_loop.Timer | None = None
        self._exit_reported = False
        self._exit_waiters: list[asyncio.Future[None]] = []
        self.exit: ProcessExit | None = None
        self.on_reaped: Callable[[int], None] = lambda _: None
        self.on_unowned_exit: Callable[[], None] | None = None
        """Called if it exits before `hand_over`."""
        argv, env = limits.limited(spec.argv, {**spec.env, tags.ENV_TAG: str(tag)}, tag)
        spawned = spawn(tuple(argv), env, spec.cwd, limits.popen_arguments())
        self.pid = spawned.pid
        tags.tag_process(self.pid, tag)
        descriptors.restore_limit_of(self.pid)
        try:
            ExitWatch(self._loop, self.pid, self._on_exited)
        except OSError:
            # Out of descriptors: the started process must not stay.
            spawned.close()
            kill_and_reap(self.pid)
            raise
        self._stdout = StdoutReader(self._loop, spawned.stdout, max_line_bytes, owner, self._on_stdout_ended)
        self._stderr_fd = spawned.stderr
        self.input = StdinQueue(self._loop, spawned.stdin, owner.on_input_closed)
        self._loop.add_reader(self._stderr_fd, self._on_stderr)

    @property
    def tag(self) -> int:
        return self._tag

    def is_running(self) -> bool:
        """Asks the kernel: the event loop may not have seen the exit yet."""
        options = os.WEXITED | os.WNOHANG | os.WNOWAIT
        return self.exit is None and os.waitid(os.P_PID, self.pid, options) is None

    def hand_over(self, owner: ProcessOwner) -> None:
        """Give a process whose output has not been read to the owner that it will have from now on."""
        self.on_unowned_exit = None
        self._owner = self._stdout.owner = owner
        self.input.on_closed = owner.on_input_closed
        self.resume_reading()

    # ---- output ------------------------------------------------------------------------------------------

    def _on_stdout_ended(self) -> None:
        if self.exit is None:
            self._stdout_closed_timer = self._loop.call_later(_STDOUT_CLOSED_GRACE_S, self._kill_group)

    def pause_reading(self) -> None:
        """Stop reading stdout; further output stays in the pipe, and the agent blocks when it is full."""
        self._stdout.pause()

    def resume_reading(self) -> None:
        if self._stdout.is_paused:
            self._stdout.resume()
            if self.exit is not None:
                self._finish()

    def _on_stderr(self) -> None:
        data = read_available(self._stderr_fd, READ_BYTES)
        if data:
            self._stderr += data
            if len(self._stderr) > 2 * STDERR_TAIL_BYTES:
                del self._stderr[:-STDERR_TAIL_BYTES]
        elif data is not None:
            self._close_stderr()

    def _close_stderr(self) -> None:
        if self._stderr_fd >= 0:
            self._loop.remove_reader(self._stderr_fd)
            os.close(self._stderr_fd)
            self._stderr_fd = -1

    @property
    def stderr_tail(self) -> str:
        return bytes(self._stderr[-STDERR_TAIL_BYTES:]).decode(errors="replace")

    # ---- the end -----------------------------------------------------------------------------------------

    def _on_exited(self, exit: ProcessExit) -> None:
        self.exit = exit
        self.on_reaped(self.pid)
        if self._stdout_closed_timer:
            self._stdout_closed_timer.cancel()
        self.input.close()
        if self.on_unowned_exit is not None:
            self.on_unowned_exit()
        elif not self._stdout.is_paused:
            self._finish()

    def _finish(self) -> None:
        """Hand over the remaining output, then report the exit. Runs when reading is not paused."""
        if not self._stdout.finish():
            return  # Reading was paused; resume_reading continues.
        while self._stderr_fd >= 0 and self._read_last_stderr():
            pass
        self._close_stderr()
        if self.exit is not None and not self._exit_reported:
            self._exit_reported = True
            for waiter in self._exit_waiters:
                if not waiter.done():
                    waiter.set_result(None)
            self._owner.on_exit(self.exit)

    def _read_last_stderr(self) -> bool:
        data = read_available(self._stderr_fd, READ_BYTES)
        if data:
            self._stderr += data
            del self._stderr[: -2 * STDERR_TAIL_BYTES]
        return bool(data)

    def discard_output(self) -> None:
        """Discard further output; the pipe is still drained so that the agent does not block."""
        self._stdout.discard()
        self.resume_reading()

    def _kill_group(self) -> None:
        if self.exit is None:
            self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except OSError:
            pass  # The group has exited.

    async def stop(self) -> None:
        """End the whole tree. Returns when no process of it is left."""
        self.input.close()
        if self._sigterm_at_once or not await self._exits_within(_EOF_GRACE_S):
            self._signal_group(signal.SIGTERM)
            await self._exits_within(_TERM_GRACE_S)
        await self.kill_tree()

    async def kill_tree(self) -> None:
        """Send SIGKILL to every process of the tree until none is left."""
        self._kill_group()
        await self._sweeper.kill(self._tag, self.group)
        await self._exits_within(KILL_LIMIT_S)

    async def _exits_within(self, seconds: float) -> bool:
        import asyncio  # loaded on first use; callers run on asyncio

        if not self._exit_reported:
            waiter = asyncio.get_running_loop().create_future()
            self._exit_waiters.append(waiter)
            await asyncio.wait([waiter], timeout=seconds)
        return self._exit_reported
