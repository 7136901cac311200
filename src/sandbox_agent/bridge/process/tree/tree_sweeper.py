"""Finds and kills the processes of all trees that are being stopped.

A snapshot of /proc takes milliseconds. Callers share snapshots: a call during a snapshot waits for the next
one, so two hundred trees that stop at once cost a few snapshots, not hundreds.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.tree import process_table
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    import asyncio

    from sandbox_agent.bridge.process.tree.control_group import TreeGroup
    from sandbox_agent.bridge.process.tree.process_table import Found, Snapshot
    from sandbox_agent.bridge.process.tree.running_trees import RunningTrees

KILL_LIMIT_S = 30.0
_KILL_POLL_S = 0.02


class TreeSweeper:
    def __init__(self, trees: RunningTrees) -> None:
        self.trees = trees
        self._current: asyncio.Future[Snapshot] | None = None
        self._next: asyncio.Future[Snapshot] | None = None
        self._found: Found = {}
        """Processes found before and not reaped yet: a zombie no longer shows its tag."""

    async def find(self, tag: int) -> Found:
        """Living processes of an ended tree, from a snapshot taken after this call.

        These are the processes with the tag, those that are left over from any ended tree, and all their
        descendants.
        """
        snapshot = await self._snapshot()
        roots = [*snapshot.tagged(tag.__eq__), *self.trees.left_over(snapshot)]
        found = snapshot.with_descendants(roots)
        self._remember(found)
        return found

    async def kill(self, tag: int, group: TreeGroup | None, *, root_has_exited: bool = False) -> None:
        """Send SIGKILL to every process of the tree until none is left, for at most 30 s.

        Most trees are one process. If that one has exited and the server has adopted no process, no snapshot
        is needed.
        """
        import asyncio  # loaded on first use; callers run on asyncio

        self.trees.ended(tag)
        loop = running_loop.running_loop()
        deadline = loop.time() + KILL_LIMIT_S
        while loop.time() < deadline:
            emptied = group is None or await running_loop.call_in_thread(group.end)
            if emptied and root_has_exited and self.trees.has_no_orphans():
                break
            found = await self.find(tag)
            if emptied and not found:
                break
            process_table.send_signal(found, signal.SIGKILL)
            await asyncio.sleep(_KILL_POLL_S)

    def _remember(self, found: Found) -> None:
        here = {pid: tick for pid, tick in self._found.items() if os.path.exists(f"/proc/{pid}")}
        self._found = here | found

    def has_found(self, pid: int) -> bool:
        """Whether the zombie `pid` belonged to a tree that was searched for."""
        return process_table.zombie_identity(pid) == (pid, self._found.get(pid))

    async def _snapshot(self) -> Snapshot:
        import asyncio  # loaded on first use; callers run on asyncio

        if self._current is None:
            self._current = self._start()
            return await asyncio.shield(self._current)
        if self._next is None:
            self._next = asyncio.ensure_future(self._after(self._current))
        return await asyncio.shield(self._next)

    def _start(self) -> asyncio.Future[Snapshot]:
        import asyncio

        future: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()

        def done(snapshot: Snapshot | None, error: BaseException | None) -> None:
            self._current = None
            if future.cancelled():
                return
            if snapshot is not None:
                future.set_result(snapshot)
            else:
                future.set_exception(error or RuntimeError("no snapshot"))

        running_loop.in_thread(process_table.Snapshot, done)
        return future

    async def _after(self, current: asyncio.Future[Snapshot]) -> Snapshot:
        import asyncio

        await asyncio.wait([current])
        self._next = None
        if self._current is None:
            self._current = self._start()
        return await asyncio.shield(self._current)
