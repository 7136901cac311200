"""Stopping a daemon: the very process that was started, and nobody else."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass

from sandbox_agent.cli.daemon.process_identity import ProcessIdentity
from sandbox_agent.cli.daemon.state import DaemonFiles

# The server ends itself and its agents within four seconds of SIGTERM.
PATIENCE_S = 6.0
_KILL_PATIENCE_S = 5.0
_POLL_S = 0.02


@dataclass(frozen=True)
class Stopped:
    pid: int | None
    """The daemon that was stopped; None if there was none."""
    stale_pid: int | None = None
    """A process id left in the pid file that is nobody's or somebody else's now."""


def stop(host: str, port: int) -> Stopped:
    """Stop the daemon of this address, if there is one."""
    files = DaemonFiles.of(host, port)
    with files.locked():
        recorded = files.recorded()
        living = files.living()
        if living is not None:
            stop_process(living)
        files.forget()
    if living is not None:
        return Stopped(living.pid)
    return Stopped(None, recorded.pid if recorded else None)


def stop_process(daemon: ProcessIdentity) -> None:
    """SIGTERM, patience, SIGKILL; after that the server's watchdog ends what the agents started."""
    daemon.send(signal.SIGTERM)
    if not _wait_for_end(daemon, PATIENCE_S):
        daemon.send(signal.SIGKILL)
        if not _wait_for_end(daemon, _KILL_PATIENCE_S):
            raise OSError(f"the daemon (pid {daemon.pid}) cannot be ended")


def _wait_for_end(daemon: ProcessIdentity, limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while daemon.is_alive():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True
