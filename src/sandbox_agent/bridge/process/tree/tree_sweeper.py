"""Finds the processes of all trees that are being stopped.

A snapshot of /proc takes milliseconds. Callers share snapshots: a call during a snapshot waits for the next
one, so two hundred trees that stop at once cost a few snapshots, not hundreds.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.tree import process_table
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    import asyncio

    from sandbox_agent.bridge.process.tree.agent_trees import AgentTrees
    from sandbox_agent.bridge.process.tree.process_table import Found, Snapshot


class TreeSweeper:
    def __init__(self, trees: AgentTrees) -> None:
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
