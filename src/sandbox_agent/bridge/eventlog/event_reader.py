"""Reads single events of a log by number, for streams that carry a part of its events.

A read returns a window: the event and those after it, as far as they come in one step from memory or from
disk. The next events of the stream are usually in the same window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.bridge.eventlog.file_range import FileRange

    Window = Mapping[int, bytes]


def read_window(log: EventLog, number: int, ready: Callable[[Window], None]) -> None:
    """Call `ready` with the window that begins with event `number`, now or later.

    The window is empty if the event is not retained any more.
    """
    in_memory = log.in_memory(number)
    if in_memory is not None:
        ready(dict(sse_frames.lines_of(in_memory.pieces)))
        return
    if number < log.oldest:
        ready({})
        return

    def found(file_range: FileRange | None) -> None:
        if file_range is None:
            ready({})
            return
        running_loop.in_thread(
            lambda: dict(sse_frames.lines_of([file_range.read()])),
            lambda window, _: ready(window or {}),
        )

    log.fetch(number, None, found)
