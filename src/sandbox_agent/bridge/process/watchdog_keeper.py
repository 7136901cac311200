"""Keeps a watchdog running: one that was killed is replaced, one that was stopped is continued.

An agent that runs as the server's user can do both to it, for example with `pkill sh`.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.bridge.process.exit_descriptor import open_exit_descriptor
from sandbox_agent.bridge.process.tree.process_table import ProcessStat
from sandbox_agent.bridge.process.watchdog import Watchdog

if TYPE_CHECKING:
    from sandbox_agent.bridge.process.tree.process_table import Found
    from sandbox_agent.runtime.loop import Loop

# The least time between two starts, so that an agent that kills every watchdog does not occupy the server.
_RETRY_S = 0.5

logger = logs.Log("sandbox_agent.bridge")


class WatchdogKeeper:
    def __init__(self, server_tag: int, loop: Loop) -> None:
        self._server_tag = server_tag
        self._loop = loop
        self._watchdog: Watchdog | None = None
        self._exit_fd = -1
        self._started_at = 0.0
        self._dismissed = False
        self._hidden: Found = {}

    def start(self) -> None:
        """Start the watchdog, now and again whenever it has ended."""
        if self._dismissed:
            return
        self._started_at = self._loop.time()
        try:
            watchdog = Watchdog(self._server_tag)
            try:
                self._exit_fd = open_exit_descriptor(watchdog.pid)
            except OSError:
                watchdog.dismiss()
                raise
        except OSError as error:
            logger.warning("watchdog.unavailable", error=str(error))
            self._loop.call_later(_RETRY_S, self.start)
            return
        self._watchdog = watchdog
        if self._hidden:
            watchdog.name_hidden(self._hidden)
        self._loop.add_reader(self._exit_fd, self._on_exit)

    def _on_exit(self) -> None:
        self._close_exit_descriptor()
        if self._watchdog is not None:
            logger.warning("watchdog.killed", pid=self._watchdog.pid)
            self._watchdog.reap()
            self._watchdog = None
            wait_s = self._started_at + _RETRY_S - self._loop.time()
            self._loop.call_later(max(wait_s, 0.0), self.start)

    def name_hidden(self, hidden: Found) -> None:
        """Name the processes that belong to agents and do not show it; they replace those named before."""
        if hidden != self._hidden:
            logger.info("watchdog.hidden_processes", pids=sorted(hidden))
            self._hidden = hidden
            if self._watchdog is not None:
                self._watchdog.name_hidden(hidden)

    def continue_if_stopped(self) -> None:
        """Called at SIGCHLD, which also tells that a child was stopped."""
        if self._watchdog is None:
            return
        try:
            if ProcessStat(self._watchdog.pid).state in (b"T", b"t"):
                os.kill(self._watchdog.pid, signal.SIGCONT)
                logger.warning("watchdog.continued", pid=self._watchdog.pid)
        except OSError:
            pass  # It was killed; `_on_exit` follows.

    def dismiss(self) -> None:
        """End the watchdog: the server has stopped its agents itself."""
        self._dismissed = True
        watchdog, self._watchdog = self._watchdog, None
        if watchdog is not None:
            self._close_exit_descriptor()
            watchdog.dismiss()

    def _close_exit_descriptor(self) -> None:
        self._loop.remove_reader(self._exit_fd)
        os.close(self._exit_fd)
