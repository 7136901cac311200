"""Looks for marked processes on behalf of everybody who is stopping a tree.

One look at /proc takes milliseconds and serves all: whoever asks while a look is under way gets the next one,
so two hundred trees that stop at once cost a few looks, not hundreds.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process import tags
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    import asyncio

    from sandbox_agent.bridge.process.tags import Found, Snapshot


class TreeSweeper:
    def __init__(self) -> None:
        self._looking: asyncio.Future[Snapshot] | None = None
        self._next: asyncio.Future[Snapshot] | None = None
        self._found: Found = {}
        """What was found before and has not been collected: the dead do not show whose they were."""

    async def find(self, mark: int) -> Found:
        """Living processes with the mark and their descendants, looked for after this call."""
        found = (await self._look()).tree(mark.__eq__)
        self._remember(found)
        return found

    def _remember(self, found: Found) -> None:
        here = {pid: tick for pid, tick in self._found.items() if os.path.exists(f"/proc/{pid}")}
        self._found = here | found

    def has_found(self, pid: int) -> bool:
        """Whether the dead process `pid` belonged to a tree that was looked for."""
        return tags.name_of_dead(pid) == (pid, self._found.get(pid))

    async def _look(self) -> Snapshot:
        import asyncio  # whoever awaits has loaded it

        if self._looking is None:
            self._looking = self._start()
            return await asyncio.shield(self._looking)
        if self._next is None:
            self._next = asyncio.ensure_future(self._after(self._looking))
        return await asyncio.shield(self._next)

    def _start(self) -> asyncio.Future[Snapshot]:
        import asyncio

        look: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()

        def done(snapshot: Snapshot | None, error: BaseException | None) -> None:
            self._looking = None
            if look.cancelled():
                return
            if snapshot is not None:
                look.set_result(snapshot)
            else:
                look.set_exception(error or RuntimeError("no look"))

        running_loop.in_thread(tags.Snapshot, done)
        return look

    async def _after(self, current: asyncio.Future[Snapshot]) -> Snapshot:
        import asyncio

        await asyncio.wait([current])
        self._next = None
        if self._looking is None:
            self._looking = self._start()
        return await asyncio.shield(self._looking)
