"""The trees of running agents, and adopted processes that are left over from ended ones.

A process that leaves its parent and its session and changes its own limit shows no tag any more. The server
has adopted it then (`subreaper`). It belongs to an agent that ran when it started; when no such agent runs
any more, it is left over.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process import own_processes
from sandbox_agent.bridge.process.tree import process_table, tags
from sandbox_agent.bridge.process.tree.process_table import ProcessStat

if TYPE_CHECKING:
    from sandbox_agent.bridge.process.tree.process_table import Found, Snapshot

_NEVER = 1 << 63


class RunningTrees:
    def __init__(self) -> None:
        self.adopts_orphans = False
        """Set by the server command: other programs have children of their own."""
        self.have_tags = True
        """Whether tags can be set here."""
        self._only_descendants = False
        self._first_tick = _NEVER
        self._running: dict[int, int] = {}
        """Start ticks of the trees by tag."""
        self._roots: set[int] = set()
        """The first processes of the trees that have not been reaped."""

    def adopt_orphans(self) -> None:
        """The server adopts orphans from now on. Called before it has started a process."""
        self.adopts_orphans = True
        # Process 1 adopts every orphan of its container. A process that was replaced by the server may have
        # left it children, whose orphans it adopts too.
        try:
            self._only_descendants = os.getpid() != 1 and not process_table.own_children()
        except OSError:
            pass  # /proc is not mounted: nothing can be found.

    def starting(self, tag: int) -> None:
        tick = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
        self._running[tag] = tick
        self._first_tick = min(self._first_tick, tick)

    def started(self, pid: int) -> None:
        self._roots.add(pid)

    def reaped(self, pid: int) -> None:
        self._roots.discard(pid)

    def ended(self, tag: int) -> None:
        """All processes of the tree are to end, whether they show the tag or not."""
        self._running.pop(tag, None)

    def is_running(self, tag: int, pid: int) -> bool:
        """Whether the tree is not being ended, and its first process `pid` has not been reaped."""
        return tag in self._running and pid in self._roots

    def is_root(self, pid: int) -> bool:
        """Whether a child is the first process of a tree, which other code waits for."""
        return pid in self._roots

    def hidden(self) -> Found:
        """Agents that have no tag, and adopted processes that show the tag of no running agent."""
        found: Found = {}
        if not self.adopts_orphans:
            return found
        session = os.getsid(0)
        # As sets: this runs every two seconds, and nearly all children are agents.
        others = set(process_table.own_children()) - own_processes.pids
        for pid in others - self._roots if self.have_tags else others:
            try:
                stat = ProcessStat(pid)
            except OSError:
                continue  # It has exited meanwhile.
            if stat.state == b"Z" or stat.session == session:
                continue
            if pid in self._roots or self._is_hidden(pid, stat, tags.tag_of(pid)):
                found[pid] = stat.started
        return found

    def has_no_orphans(self) -> bool:
        """Whether no descendant of an ended agent is alive: the server would be the parent of one of them.

        The kernel may skip a child while another one exits, so the children are read twice.
        """
        try:
            return self.adopts_orphans and all(
                set(process_table.adopted_children()) <= self._roots | own_processes.pids for _ in range(2)
            )
        except OSError:
            return False  # Out of descriptors.

    def left_over(self, snapshot: Snapshot) -> list[int]:
        """Adopted processes that no running agent can have started."""
        if not self.adopts_orphans:
            return []
        return [
            pid
            for pid, stat, tag in snapshot.children_in_other_sessions()
            if self._is_hidden(pid, stat, tag) and all(stat.started < tick for tick in self._running.values())
        ]

    def _is_hidden(self, pid: int, stat: ProcessStat, tag: int | None) -> bool:
        """Whether a child comes from an agent and shows the tag of none that runs."""
        if pid in self._roots or pid in own_processes.pids or stat.started < self._first_tick:
            return False
        if tag is not None and (tag in self._running or tags.server_of(tag) in own_processes.server_tags):
            return False
        return self._only_descendants or tags.is_below_a_tag(pid)
