"""One agent process tree: start it, frame its lines, drain its stderr, write to it, stop it for good.

The pipes are ours: read in batches, written by an `InputQueue`. The process runs in
a session of its own and carries a mark that finds every descendant (`process_marks`).
`stop` always ends, and after it nothing of the tree lives: end of stdin, SIGTERM, SIGKILL until none is left.
"""

from __future__ import annotations

import os

from sandbox_agent.bare import signal
from sandbox_agent.bridge import loops, pipe_size, process_marks
from sandbox_agent.bridge.framing import LineFramer
from sandbox_agent.bridge.input_queue import InputQueue
from sandbox_agent.bridge.lines import LF
from sandbox_agent.bridge.spawn import spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable
    from typing import Protocol

    from sandbox_agent.bridge.confinement import Confinement
    from sandbox_agent.bridge.framing import Piece
    from sandbox_agent.bridge.launch_spec import LaunchSpec
    from sandbox_agent.bridge.tree_sweeper import TreeSweeper

    class Output(Protocol):
        def take_block(self, block: bytes) -> None:
            """What the process has written: whole lines."""

        def take(self, pieces: list[Piece]) -> None:
            """The same, in several pieces."""

    class Owner(Protocol):
        """Who is told what the process does. All calls come from the event loop."""

        @property
        def output(self) -> Output: ...

        def heard(self) -> None:
            """The process has written something, and it has been taken."""

        def on_input_closed(self) -> None:
            """The process closed its stdin; what was not written will never be."""

        def on_exit(self, exit: Exit) -> None:
            """Called once, after all output of the process has been handed over."""


STDERR_TAIL_BYTES = 64 * 1024
# 64 KiB reads stay in the allocator's pools; a stream of full reads is worth larger ones.
_READ_BYTES, _MAX_READ_BYTES = 64 * 1024, 1024 * 1024
# Where whole lines end this close to the end of a full read, they are short: several reads make one batch.
_SHORT_LINE_BYTES = 1024
_MORE_READS, _FLOOD_PIPE_BYTES = 2, 256 * 1024
# What a dead agent left in its pipe is read to the end; grandchildren that go on writing are cut off here.
_DRAIN_BYTES = 16 * 1024 * 1024
_EOF_GRACE_S, _TERM_GRACE_S = 1.0, 1.0
_KILL_POLL_S, _KILL_LIMIT_S = 0.02, 30.0
# An agent that closed its stdout can say nothing any more; it gets this long to exit by itself.
_MUTE_GRACE_S = 1.0


class Exit:
    """How a process ended."""

    __slots__ = ("code", "signal")

    def __init__(self, wait_status: int) -> None:
        status = os.waitstatus_to_exitcode(wait_status)
        self.code = status if status >= 0 else None
        self.signal = _signal_name(-status) if status < 0 else None


def _signal_name(number: int) -> str:
    from signal import Signals  # an agent was killed; knowing the name may take its time

    try:
        return Signals(number).name
    except ValueError:
        return f"SIG{number}"


class AgentProcess:
    __slots__ = (
        "_exit_told",
        "_exit_waiters",
        "_framer",
        "_loop",
        "_mark",
        "_mute_timer",
        "_muted",
        "_owner",
        "_paused",
        "_pidfd",
        "_read_bytes",
        "_stderr",
        "_stderr_fd",
        "_stdout",
        "_sweeper",
        "exit",
        "input",
        "on_reaped",
        "pid",
    )

    def __init__(
        self,
        spec: LaunchSpec,
        mark: int,
        max_line_bytes: int,
        owner: Owner,
        sweeper: TreeSweeper,
        confinement: Confinement,
    ) -> None:
        """Start the process. Raises OSError, ValueError or KeyError when it cannot be started."""
        self._loop = loops.running_loop()
        self._owner = owner
        self._mark = mark
        self._sweeper = sweeper
        self._framer = LineFramer(max_line_bytes)
        self._read_bytes = _READ_BYTES
        self._stderr = bytearray()
        self._paused = False
        self._muted = False
        self._mute_timer: loops.Timer | None = None
        self._exit_told = False
        self._exit_waiters: list[asyncio.Future[None]] = []
        self.exit: Exit | None = None
        self.on_reaped: Callable[[int], None] = lambda _: None
        env = {**spec.env, **confinement.environment(), process_marks.ENV_MARK: str(mark)}
        spawned = spawn(tuple(confinement.limited(spec.argv)), env, spec.cwd, confinement.popen_arguments())
        self.pid = spawned.pid
        process_marks.mark_process(self.pid, mark)
        try:
            self._pidfd = os.pidfd_open(self.pid)
        except OSError:
            # Out of descriptors: what has been started must not stay.
            spawned.close()
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            raise
        self._stdout, self._stderr_fd = spawned.stdout, spawned.stderr
        self.input = InputQueue(self._loop, spawned.stdin, owner.on_input_closed)
        self._loop.add_reader(self._stdout, self._on_stdout)
        self._loop.add_reader(self._stderr_fd, self._on_stderr)
        self._loop.add_reader(self._pidfd, self._on_exited)

    # ---- output ------------------------------------------------------------------------------------------

    def _on_stdout(self) -> None:
        try:
            data = os.read(self._stdout, self._read_bytes)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._close_stdout()
            if self.exit is None:
                self._mute_timer = self._loop.call_later(_MUTE_GRACE_S, self._kill_group)
            return
        size = len(data)
        if size <= self._framer.whole_up_to and size < self._read_bytes == _READ_BYTES and data[-1] == LF:
            # As nearly always; somebody waits for it.
            if not self._muted:
                self._owner.output.take_block(data)
                self._owner.heard()
            return
        pieces = self._framer.feed(data)
        if len(data) == self._read_bytes:
            pieces += self._read_on(data)
        elif self._read_bytes > _READ_BYTES and len(data) < _READ_BYTES:
            self._read_bytes //= 4
        self._hand_over(pieces)

    def _read_on(self, data: bytes) -> list[Piece]:
        """There was more than one read takes: long lines get larger reads, short ones a few more of them."""
        pieces: list[Piece] = []
        if data.rfind(b"\n", -_SHORT_LINE_BYTES) < 0:
            if self._read_bytes < _MAX_READ_BYTES:
                self._read_bytes *= 4
                pipe_size.fit(self._stdout, self._read_bytes)
            return pieces
        if self._read_bytes > _READ_BYTES:
            self._read_bytes //= 4
            return pieces
        pipe_size.fit(self._stdout, _FLOOD_PIPE_BYTES)
        for _ in range(_MORE_READS):
            more = self._read(self._stdout, _READ_BYTES)
            if not more:
                break  # The end of the stream, if that is it, is reported again.
            pieces += self._framer.feed(more)
            if len(more) < _READ_BYTES:
                break
        return pieces

    def _hand_over(self, pieces: list[Piece]) -> None:
        if pieces and not self._muted:
            self._owner.output.take(pieces)
            self._owner.heard()

    def _close_stdout(self) -> None:
        if self._stdout >= 0:
            self._loop.remove_reader(self._stdout)
            os.close(self._stdout)
            self._stdout = -1
            rest = self._framer.flush()
            if rest:
                self._hand_over([rest + b"\n"])

    def pause_reading(self) -> None:
        """Let the agent wait; what it has written stays in the pipe."""
        if not self._paused and self._stdout >= 0:
            self._paused = True
            self._loop.remove_reader(self._stdout)

    def resume_reading(self) -> None:
        if self._paused:
            self._paused = False
            if self.exit is not None:
                self._finish()
            elif self._stdout >= 0:
                self._loop.add_reader(self._stdout, self._on_stdout)

    def _on_stderr(self) -> None:
        data = self._read(self._stderr_fd, _READ_BYTES)
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

    @staticmethod
    def _read(fd: int, size: int) -> bytes | None:
        """What there is; nothing at the end of the stream; None when there is nothing now."""
        try:
            return os.read(fd, size)
        except BlockingIOError:
            return None
        except OSError:
            return b""

    # ---- the end -----------------------------------------------------------------------------------------

    def _on_exited(self) -> None:
        self._loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        try:
            _, status = os.waitpid(self.pid, 0)
        except ChildProcessError:
            status = 0  # Somebody else's SIGCHLD handler was quicker; how it ended is not known.
        self.exit = Exit(status)
        self.on_reaped(self.pid)
        if self._mute_timer:
            self._mute_timer.cancel()
        self.input.close()
        if not self._paused:
            self._finish()

    def _finish(self) -> None:
        """All that the process wrote, then its exit. Runs when nobody has paused the output."""
        drained = 0
        while self._stdout >= 0 and drained < _DRAIN_BYTES:
            data = self._read(self._stdout, _MAX_READ_BYTES)
            if not data:
                break
            drained += len(data)
            self._hand_over(self._framer.feed(data))
            if self._paused:
                return  # resume_reading comes back here
        self._close_stdout()
        while self._stderr_fd >= 0 and self._read_last_stderr():
            pass
        self._close_stderr()
        if self.exit is not None and not self._exit_told:
            self._exit_told = True
            for waiter in self._exit_waiters:
                if not waiter.done():
                    waiter.set_result(None)
            self._owner.on_exit(self.exit)

    def _read_last_stderr(self) -> bool:
        data = self._read(self._stderr_fd, _READ_BYTES)
        if data:
            self._stderr += data
            del self._stderr[: -2 * STDERR_TAIL_BYTES]
        return bool(data)

    def mute(self) -> None:
        """The owner hears no more output; the pipe is still drained so that nobody blocks on it."""
        self._muted = True
        self.resume_reading()

    def _kill_group(self) -> None:
        if self.exit is None:
            self._signal_group(signal.SIGKILL)

    def _signal_group(self, number: int) -> None:
        try:
            os.killpg(self.pid, number)
        except OSError:
            pass  # The group is gone.

    async def stop(self) -> None:
        """End the whole tree. Returns when nothing of it is left."""
        self.input.close()
        if not await self._exits_within(_EOF_GRACE_S):
            self._signal_group(signal.SIGTERM)
            await self._exits_within(_TERM_GRACE_S)
        await self.kill_tree()

    async def kill_tree(self) -> None:
        """SIGKILL everything that carries the mark until nothing does."""
        import asyncio  # here and below: whoever awaits has loaded it

        self._kill_group()
        deadline = self._loop.time() + _KILL_LIMIT_S
        while self._loop.time() < deadline and (found := await self._sweeper.find(self._mark)):
            process_marks.send_signal(found, signal.SIGKILL)
            await asyncio.sleep(_KILL_POLL_S)
        await self._exits_within(_KILL_LIMIT_S)

    async def _exits_within(self, seconds: float) -> bool:
        import asyncio

        if not self._exit_told:
            waiter = asyncio.get_running_loop().create_future()
            self._exit_waiters.append(waiter)
            await asyncio.wait([waiter], timeout=seconds)
        return self._exit_told
