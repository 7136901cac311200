"""Waiting for descriptors without falling asleep in the middle of a conversation.

Going to sleep and being woken up takes a processor longer than most messages take this server, above all
under a hypervisor. So after a few sleeps in a row that were over at once, the next ones begin with a moment of
looking again and again. A single sleep that lasts ends this: an agent that thinks, or writes something every
few milliseconds, is waited for asleep. Between two looks everybody else who wants the processor gets it.
"""

from __future__ import annotations

import os
from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from select import epoll

# What one poll may report; with more ready than that the kernel takes turns.
_MAX_EVENTS = 512
# A sleep this short costs more than it saves. After two of them there is a conversation; one may be a request
# and the answer to it, with nothing to follow.
_SHORT_SLEEP_S = 200e-6
_SHORT_SLEEPS = 2
_AWAKE_S = 100e-6


class Vigil:
    __slots__ = ("_poll", "_short_sleeps")

    def __init__(self, descriptors: epoll) -> None:
        self._poll = descriptors.poll
        self._short_sleeps = 0

    def look(self) -> list[tuple[int, int]]:
        """What is ready now."""
        return self._poll(0, _MAX_EVENTS)

    def wait(self, timeout: float) -> list[tuple[int, int]]:
        """What is ready as soon as something is, or nothing after so many seconds; negative: for ever."""
        poll = self._poll
        if self._short_sleeps >= _SHORT_SLEEPS:
            end = monotonic() + _AWAKE_S
            while not (ready := poll(0, _MAX_EVENTS)):
                if monotonic() >= end:
                    break
                os.sched_yield()
            else:
                return ready
        began = monotonic()
        ready = poll(timeout, _MAX_EVENTS)
        self._short_sleeps = self._short_sleeps + 1 if monotonic() - began < _SHORT_SLEEP_S else 0
        return ready
