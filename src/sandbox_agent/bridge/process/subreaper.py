"""Orphans come home: the server adopts what its agents leave behind, and buries it.

Only the `server` command uses this; inside somebody else's process neither the subreaper flag nor a SIGCHLD
handler is ours to set. Agents themselves are waited for by `process`; this looks only at adopted processes.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process import tags
from sandbox_agent.runtime import c_library

if TYPE_CHECKING:
    from sandbox_agent.bridge.registry import InstanceRegistry
    from sandbox_agent.runtime.loop import Loop, Timer

_PR_SET_CHILD_SUBREAPER = 36
# Whoever started a child of ours waits for it and collects it sooner than this.
_NOBODYS_AFTER_S = 1.5


def adopt_orphans(instances: InstanceRegistry, loop: Loop) -> None:
    """Become the parent of orphaned descendants and reap them when they die."""
    c_library.call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    loop.on_signal(signal.SIGCHLD, _Reaper(instances, loop).reap)


class _Reaper:
    """Buries adopted processes: at once if they are known as ours, else when nobody else does.

    A dead process shows its limits but no longer its environment. So one that was started before its agent
    got the mark, or where marks live in the environment only, cannot be told from a child that somebody waits
    for. Such a child is left alone for a while.
    """

    def __init__(self, instances: InstanceRegistry, loop: Loop) -> None:
        self._instances = instances
        self._loop = loop
        self._unclaimed: dict[tuple[int, int], float] = {}
        """Dead children of unknown origin, by pid and start, with the time at which they were seen first."""
        self._look: Timer | None = None

    def reap(self) -> None:
        unclaimed: dict[tuple[int, int], float] = {}
        now = self._loop.time()
        for pid in _children():
            if self._instances.starter.is_agent(pid):
                continue
            if not self._is_ours(pid):
                name = tags.name_of_dead(pid)
                if name is None:
                    continue
                since = self._unclaimed.get(name, now)
                if now - since < _NOBODYS_AFTER_S:
                    unclaimed[name] = since
                    continue
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass  # Reaped in the meantime.
        self._unclaimed = unclaimed
        if unclaimed and self._look is None:
            self._look = self._loop.call_later(_NOBODYS_AFTER_S, self._look_again)

    def _look_again(self) -> None:
        self._look = None
        self.reap()

    def _is_ours(self, pid: int) -> bool:
        mark = tags.mark_of(pid)
        if mark is not None and tags.server_of(mark) == self._instances.starter.server_mark:
            return True
        return self._instances.was_in_a_stopped_tree(pid)


def _children() -> list[int]:
    children: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as listing:
                children += map(int, listing.read().split())
        except OSError:
            continue  # The thread ended while we looked.
    return children
