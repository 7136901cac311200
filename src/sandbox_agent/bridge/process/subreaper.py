"""Adopts orphaned descendants of agents (PR_SET_CHILD_SUBREAPER) and reaps them.

Only the `server` command uses it: an application that mounts the server owns its process and its SIGCHLD
handler. `AgentProcess` waits for the agents themselves; this module handles adopted processes only.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process import tags
from sandbox_agent.runtime import c_library

if TYPE_CHECKING:
    from sandbox_agent.bridge.registry import InstanceRegistry
    from sandbox_agent.runtime.loop import Loop, LoopTimer

_PR_SET_CHILD_SUBREAPER = 36
# A child that was started by this process is reaped by its starter sooner than this.
_UNCLAIMED_AFTER_S = 1.5


def adopt_orphans(instances: InstanceRegistry, loop: Loop) -> None:
    """Become the parent of orphaned descendants and reap them when they die."""
    c_library.call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    loop.on_signal(signal.SIGCHLD, _Reaper(instances, loop).reap)


class _Reaper:
    """Reaps adopted processes: at once if they belong to an agent, else after a delay.

    A zombie shows its limits but no longer its environment. A process that was started before its agent was
    tagged, or whose tag is in the environment only, looks like a child that other code waits for. Such a
    child is left to that code for 1.5 s.
    """

    def __init__(self, instances: InstanceRegistry, loop: Loop) -> None:
        self._instances = instances
        self._loop = loop
        self._unclaimed: dict[tuple[int, int], float] = {}
        """Zombies of unknown origin, by pid and start tick, with the time at which they were first seen."""
        self._timer: LoopTimer | None = None

    def reap(self) -> None:
        try:
            children = _children()
        except OSError:
            self._reap_later()  # Out of descriptors.
            return
        unclaimed: dict[tuple[int, int], float] = {}
        now = self._loop.time()
        for pid in children:
            if self._instances.starter.is_agent(pid):
                continue
            if not self._belongs_to_agent(pid):
                identity = tags.zombie_identity(pid)
                if identity is None:
                    continue
                since = self._unclaimed.get(identity, now)
                if now - since < _UNCLAIMED_AFTER_S:
                    unclaimed[identity] = since
                    continue
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass  # Reaped in the meantime.
        self._unclaimed = unclaimed
        if unclaimed:
            self._reap_later()

    def _reap_later(self) -> None:
        if self._timer is None:
            self._timer = self._loop.call_later(_UNCLAIMED_AFTER_S, self._reap_again)

    def _reap_again(self) -> None:
        self._timer = None
        self.reap()

    def _belongs_to_agent(self, pid: int) -> bool:
        tag = tags.tag_of(pid)
        if tag is not None and tags.server_of(tag) == self._instances.starter.server_tag:
            return True
        return self._instances.was_in_stopped_tree(pid)


def _children() -> list[int]:
    children: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as listing:
                children += map(int, listing.read().split())
        except (FileNotFoundError, ProcessLookupError):
            continue  # The thread has ended meanwhile.
    return children
