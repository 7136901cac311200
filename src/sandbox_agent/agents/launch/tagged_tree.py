"""A process tree that can neither hide from this process nor outlive it.

Installers and first starts of agents run in one. Every process of the tree carries a mark (`process_marks`),
so `end` finds also what has moved to a session of its own; and a watchdog waits outside, which ends the tree
if this process is killed before it could.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from pathlib import Path

from sandbox_agent.bridge.process import tags
from sandbox_agent.bridge.process.watchdog import Watchdog

_POLL_S = 0.02
_GIVE_UP_AFTER_S = 10.0


class TaggedTree:
    """Make one, start a process with its `environment`, `adopt` it at once, and `end` it in any case."""

    def __init__(self) -> None:
        """Raises OSError if there is no watchdog to be had."""
        number = tags.new_server_tag()
        self._mark = tags.instance_tag(number, 0)
        self._watchdog = Watchdog(number)

    @property
    def environment(self) -> dict[str, str]:
        """What the first process has to have among its variables."""
        return {tags.ENV_TAG: str(self._mark)}

    def adopt(self, pid: int) -> None:
        """Mark the first process; what it starts inherits the mark."""
        tags.tag_process(pid, self._mark)

    async def end(self) -> None:
        """Kill whatever is left of the tree. Goes on to its end also if the caller is cancelled."""
        await asyncio.shield(asyncio.to_thread(self._end))

    def _end(self) -> None:
        deadline = time.monotonic() + _GIVE_UP_AFTER_S
        while found := tags.Snapshot().tree(self._mark.__eq__):
            tags.send_signal(found, signal.SIGKILL)
            if time.monotonic() > deadline:
                return  # Something that cannot be killed; the watchdog goes on trying when this process ends.
            time.sleep(_POLL_S)
        self._watchdog.dismiss()

    def bury(self) -> None:
        """Collect the dead of the tree that came to this process as orphans.

        For when the first process has been waited for: its exit status belongs to whoever started it.
        """
        for thread in Path("/proc/self/task").glob("*/children"):
            for pid in _numbers(thread):
                if tags.tag_of(pid) == self._mark:
                    try:
                        os.waitpid(pid, os.WNOHANG)
                    except ChildProcessError:
                        pass  # Collected in the meantime.


def _numbers(listing: Path) -> list[int]:
    try:
        return [int(word) for word in listing.read_text("ascii").split()]
    except OSError:
        return []  # The thread ended while we looked.
