"""Reads a log from a position on, at the pace of its reader."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.bridge.eventlog.file_range import FileRange
from sandbox_agent.runtime import running_loop
from sandbox_agent.terminals import output_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.bridge.eventlog.cursor import Cursor, Wake
    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.terminals.live_output import LiveOutput

    Attach = Callable[[EventLog, int | None, Wake], Cursor]


class LogReader:
    def __init__(self, log: EventLog, since: int | None, attach: Attach) -> None:
        """`attach` opens the cursor. A `since` that is not reached yet skips what comes up to it."""
        self._log = log
        self._skip_to = since if since is not None and since > log.last else 0
        self._changed = asyncio.Event()
        self.cursor = attach(log, log.last if self._skip_to else since, self.wake)

    @property
    def position(self) -> int:
        """The number of the last entry that was read."""
        return self.cursor.position - 1

    def wake(self) -> None:
        self._changed.set()

    async def read(self) -> bytes | Gap | None:
        """The next frames, or what is missing before them; None if there is nothing now."""
        first, item = self.cursor.position, self.cursor.take()
        if item is None or isinstance(item, Gap):
            return item
        if isinstance(item, FileRange):
            frames = await running_loop.call_in_thread(item.read)
        else:
            frames = b"".join(item.pieces)
        return output_log.after(frames, self._skip_to) if first <= self._skip_to else frames

    async def read_output(self, live: LiveOutput) -> bytes | Gap | None:
        """As `read`, but the bytes that the process wrote."""
        first = self.cursor.position
        frames = await self.read()
        if frames is None or isinstance(frames, Gap):
            return frames
        output = live.between(first, self.position) if first > self._skip_to else None
        return output_log.raw_output(frames) if output is None else output

    @property
    def is_at_end(self) -> bool:
        return self._log.closed or self.cursor.position > self._log.last

    async def wait(self, limit_s: float | None = None) -> bool:
        """Wait until there may be more; false if `limit_s` is over."""
        try:
            await asyncio.wait_for(self._changed.wait(), limit_s)
        except TimeoutError:
            return False
        self._changed.clear()
        return True
