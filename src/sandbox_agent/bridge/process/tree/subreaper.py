"""Adopts orphaned descendants of agents (PR_SET_CHILD_SUBREAPER), reaps them, and names those to the watchdog
that hide their tag.

Only the `server` command uses it: an application that mounts the server owns its process and its SIGCHLD
handler. `AgentProcess` waits for the agents themselves; this module handles adopted processes only.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process import own_processes
from sandbox_agent.bridge.process.tree import process_table, tags
from sandbox_agent.runtime import c_library

if TYPE_CHECKING:
    from sandbox_agent.bridge.process.watchdog_keeper import WatchdogKeeper
    from sandbox_agent.bridge.registry import InstanceRegistry
    from sandbox_agent.runtime.loop import Loop, LoopTimer

_PR_SET_CHILD_SUBREAPER = 36
# A child that was started by this process is reaped by its starter sooner than this.
_UNCLAIMED_AFTER_S = 1.5
# How often adopted processes are searched for those that hide their tag. The kernel reports no adoption.
_LOOK_FOR_HIDDEN_S = 2.0


def become_subreaper() -> None:
    """Become the parent of orphaned descendants. It applies to the whole process; a thread may call it."""
    c_library.call("prctl", _PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def watch_children(instances: InstanceRegistry, keeper: WatchdogKeeper, loop: Loop) -> None:
    """Reap adopted processes when they die, and look for those that hide their tag."""
    reaper = _Reaper(instances, loop)

    def on_child() -> None:
        keeper.continue_if_stopped()
        reaper.reap()

    def look_for_hidden() -> None:
        loop.call_later(_LOOK_FOR_HIDDEN_S, look_for_hidden)
        try:
            keeper.name_hidden(instances.starter.trees.hidden())
        except OSError:
            pass  # No descriptor is left for the search; the next one follows.

    loop.on_signal(signal.SIGCHLD, on_child)
    loop.call_later(_LOOK_FOR_HIDDEN_S, look_for_hidden)


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
            children = process_table.adopted_children()
        except OSError:
            self._reap_later()  # Out of descriptors.
            return
        unclaimed: dict[tuple[int, int], float] = {}
        now = self._loop.time()
        for pid in children:
            if self._instances.starter.trees.is_root(pid) or pid in own_processes.pids:
                continue
            if not self._belongs_to_agent(pid):
                identity = process_table.zombie_identity(pid)
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
