"""Stopping a daemon: only the process that was started is signalled."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

from sandbox_agent.cli.daemon.daemon_files import DaemonFiles
from sandbox_agent.cli.daemon.process_identity import ProcessIdentity

# The server stops itself and its agents within four seconds of SIGTERM.
TERM_LIMIT_S = 6.0
_KILL_LIMIT_S = 5.0
_POLL_S = 0.02


@dataclass(frozen=True)
class StopResult:
    pid: int | None
    """The daemon that was stopped; None if there was none."""
    stale_pid: int | None = None
    """A process id in the pid file that is unused or belongs to another process now."""


def stop(host: str, port: int) -> StopResult:
    """Stop the daemon of this address, if there is one."""
    files = DaemonFiles.of(host, port)
    with files.locked():
        recorded = files.recorded()
        running = files.running()
        if running is not None:
            stop_process(running)
        files.clear()
    if running is not None:
        return StopResult(running.pid)
    return StopResult(None, recorded.pid if recorded else None)


def stop_process(daemon: ProcessIdentity) -> None:
    """SIGTERM, then SIGKILL; after SIGKILL the server's watchdog ends the agents' processes."""
    daemon.send(signal.SIGTERM)
    if not _wait_for_end(daemon, TERM_LIMIT_S):
        daemon.send(signal.SIGKILL)
        if not _wait_for_end(daemon, _KILL_LIMIT_S):
            raise OSError(f"the daemon (pid {daemon.pid}) cannot be ended")


def _wait_for_end(daemon: ProcessIdentity, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while daemon.is_alive():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True
