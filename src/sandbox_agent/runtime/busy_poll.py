"""Busy polling between messages that follow each other at once.

Putting a processor to sleep and waking it takes longer than the server needs for most messages, above all in
a virtual machine. When the fourth wait in a row begins within 0.4 ms of the one before, `poll` polls for a
short time before the loop sleeps in epoll. One longer wait ends this, so the loop sleeps while an agent
thinks or writes something every few milliseconds. Between two polls the processor is yielded to other
processes.
"""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from select import epoll

    Ready = list[tuple[int, int]]

# Waits that begin within this time of each other are counted. The first three may be a single request and its
# answer.
_MAX_INTERVAL_S = 400e-6
_SLEEPS_FIRST = 3
# The most descriptors that a poll reports; with more of them ready the loop does not wait anyway.
_MAX_READY = 64


class BusyPoll:
    __slots__ = ("_began", "_in_a_row", "_limit_s", "_poll")

    def __init__(self, descriptors: epoll, limit_s: float) -> None:
        """`limit_s` is how long one call polls."""
        self._poll = descriptors.poll
        self._limit_s = limit_s
        self._began = 0.0
        self._in_a_row = 0

    def poll(self, now: float) -> Ready | None:
        """Called before each sleep: what became ready meanwhile; None if the loop is to sleep."""
        before, self._began = self._began, now
        if now - before > _MAX_INTERVAL_S:
            self._in_a_row = 1
            return None
        self._in_a_row += 1
        if self._in_a_row <= _SLEEPS_FIRST:
            return None
        end = now + self._limit_s
        while not (ready := self._poll(0, _MAX_READY)):
            if monotonic() >= end:
                return None
            os.sched_yield()
        return ready
