"""A process as clients see it: its id, its state, its log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.runtime import wall_clock
from sandbox_agent.terminals import output_log
from sandbox_agent.terminals.live_output import LiveOutput

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.bridge.process.exit_watch import ProcessExit
    from sandbox_agent.terminals.launch import Launch
    from sandbox_agent.terminals.user_process import UserProcess


class ManagedProcess:
    """The `OutputOwner` of its process."""

    process: UserProcess
    """Set when the process has been started."""
    id = ""
    """Given when the process has been started: failed starts use up no number."""

    def __init__(
        self, launch: Launch, log: EventLog, cwd: str | None, interactive: bool, on_exited: Callable[[], None]
    ) -> None:
        """`cwd` is the directory as the client gave it."""
        self.command = launch.command
        self.args = launch.args
        self.cwd = cwd
        self.is_terminal = launch.terminal is not None
        self.interactive = interactive
        self.log = log
        self.live = LiveOutput()
        self.created_at_ms = wall_clock.now_ms()
        self.exited_at_ms: int | None = None
        self.exit: ProcessExit | None = None
        self.is_stopping = False
        """A client wants it to end: what it leaves behind is killed."""
        self._on_exited = on_exited
        log.on_congestion = self._pause_output

    def _pause_output(self, paused: bool) -> None:
        self.process.pause_output(paused)

    def on_output(self, stream: str, data: bytes) -> None:
        output_log.publish(self.log, stream, data)
        self.live.add(self.log.last, data)

    def on_exit(self, exit: ProcessExit) -> None:
        self.exit = exit
        self.exited_at_ms = wall_clock.now_ms()
        self.log.wake_waiting()
        self._on_exited()
