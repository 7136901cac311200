"""A process tree whose members are all found and killed, also if this process is killed first.

Installers and the first starts of agents run in one. Each process of the tree inherits a tag
(`bridge.process.tree.tags`), so `end` also finds processes that moved to a session of their own. A watchdog
process kills the tree if this process is killed before it can.
"""

from __future__ import annotations

import os
import signal
import time

from sandbox_agent.bridge.process import own_processes
from sandbox_agent.bridge.process.tree import process_table, tags
from sandbox_agent.bridge.process.tree.process_table import Found
from sandbox_agent.bridge.process.watchdog import Watchdog
from sandbox_agent.runtime import descriptors

_POLL_S = 0.02
_GIVE_UP_AFTER_S = 10.0


class TaggedTree:
    """Create it, start a process with its `environment`, `adopt` the process, and call `end` in any case."""

    def __init__(self) -> None:
        """Raises OSError if the watchdog cannot be started."""
        self._server_tag = tags.new_server_tag()
        self._tag = tags.instance_tag(self._server_tag, 0)
        self._watchdog = Watchdog(self._server_tag)
        own_processes.server_tags.add(self._server_tag)

    @property
    def tag(self) -> int:
        return self._tag

    @property
    def environment(self) -> dict[str, str]:
        """Variables that the first process must have."""
        return {tags.ENV_TAG: str(self._tag)}

    def adopt(self, pid: int) -> None:
        """Tag the first process and limit its descriptors; its children inherit both."""
        tags.tag_process(pid, self._tag)
        descriptors.restore_limit_of(pid)

    async def end(self) -> None:
        """Kill what is left of the tree; not interrupted if the caller is cancelled."""
        import asyncio  # `sandbox-agent acp` starts an agent without it

        await asyncio.shield(asyncio.to_thread(self.end_now))

    def end_now(self) -> None:
        """Kill what is left of the tree; blocks until nothing is."""
        deadline = time.monotonic() + _GIVE_UP_AFTER_S
        while found := self._living():
            process_table.send_signal(found, signal.SIGKILL)
            if time.monotonic() > deadline:
                return  # A process cannot be killed; the watchdog tries again when this process ends.
            time.sleep(_POLL_S)
        own_processes.server_tags.discard(self._server_tag)
        self._watchdog.dismiss()

    def _living(self) -> Found:
        snapshot = process_table.Snapshot()
        return snapshot.with_descendants(snapshot.tagged(self._tag.__eq__))

    def reap(self) -> None:
        """Reap the dead processes of the tree that were re-parented to this process.

        Call it after waiting for the first process, whose exit status belongs to its starter.
        """
        try:
            children = process_table.own_children()
        except OSError:
            return  # No descriptor is left; the server's reaper takes them later.
        for pid in children:
            if tags.tag_of(pid) == self._tag:
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass  # Already reaped.
