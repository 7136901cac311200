"""Makes the logs of instances and of processes; what does not fit in memory goes to the spill directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.bridge import client_log
from sandbox_agent.bridge.client_log import ClientLog
from sandbox_agent.bridge.eventlog.event_log import EventLog
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sandbox_agent.bridge.eventlog.event_log import Retention
    from sandbox_agent.bridge.eventlog.spill import Spill

logger = logs.Log("sandbox_agent.bridge")


class LogFactory:
    def __init__(self, spill_directory: str | None, spill_max_bytes: int) -> None:
        """Each log may use `spill_max_bytes` on disk; without a directory, or with 0, logs are in memory."""
        self._directory = spill_directory
        self._max_bytes = spill_max_bytes
        self._spills = 0

    def new_log(self, retention: Retention, *, first: int = 1) -> EventLog:
        """A log whose first event has the number `first`."""
        spill = self._new_spill(self._max_bytes)
        return EventLog(retention, first=first, spill=spill, background=_in_worker_thread)

    def new_client_log(self) -> ClientLog:
        return ClientLog(self._new_spill(min(self._max_bytes, client_log.MAX_DISK_BYTES)), _in_worker_thread)

    def _new_spill(self, max_bytes: int) -> Spill | None:
        if self._directory is None or max_bytes <= 0:
            return None
        from sandbox_agent.bridge.eventlog.spill import Spill  # loaded with the first log

        self._spills += 1
        return Spill(self._directory, str(self._spills), max_bytes)


def _in_worker_thread(job: Callable[[], Any], done: Callable[[Any], None]) -> None:
    def finished(result: Any, error: BaseException | None) -> None:
        if error is not None:
            logger.exception("log.spill_failed", error)
        done(result)

    running_loop.in_thread(job, finished)
