"""Staying awake in the middle of a conversation.

Going to sleep and being woken up takes a processor longer than most messages take this server, above all
under a hypervisor. So when one wait follows the other at once, several times in a row, the next one begins
with a moment of looking again and again. A single wait that lasts ends this: an agent that thinks, or writes
something every few milliseconds, is waited for asleep. Between two looks everybody else who wants the
processor gets it.
"""

from __future__ import annotations

import os
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from select import epoll

    Ready = list[tuple[int, int]]

# Waits that begin this soon one after the other belong together. The first ones may be a request and the
# answer to it, with nothing to follow.
_AT_ONCE_S = 400e-6
_WAITS_IN_A_ROW = 3
# What a look may report. Where more is going on, nobody comes here.
_FEW = 64


class BusyPoll:
    __slots__ = ("_awake_s", "_began", "_in_a_row", "_poll")

    def __init__(self, descriptors: epoll, awake_s: float) -> None:
        """`awake_s` is how long the moment is."""
        self._poll = descriptors.poll
        self._awake_s = awake_s
        self._began = 0.0
        self._in_a_row = 0

    def keep(self, now: float) -> Ready | None:
        """Before a sleep: what makes it unnecessary, if that is worth waiting for and comes in time."""
        before, self._began = self._began, now
        if now - before > _AT_ONCE_S:
            self._in_a_row = 1
            return None
        self._in_a_row += 1
        if self._in_a_row <= _WAITS_IN_A_ROW:
            return None
        end = now + self._awake_s
        while not (ready := self._poll(0, _FEW)):
            if monotonic() >= end:
                return None
            os.sched_yield()
        return ready
