"""When the events of a log were published, to 10 ms.

One mark stands for all events up to the next one. The oldest marks are dropped beyond 262,144 (4 MB), which
an agent reaches after 40 minutes of output without a pause.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_RESOLUTION_NS = 10_000_000
_MAX_MARKS = 1 << 18


class TimeMarks:
    __slots__ = ("_firsts", "_newest_ns", "_next", "_times_ms")

    def __init__(self, next_number: int) -> None:
        self._firsts = array("q")
        self._times_ms = array("q")
        self._newest_ns = -_RESOLUTION_NS
        self._next = next_number
        """The first number that no call of `published` has covered."""

    def published(self, last: int, now_ns: int) -> None:
        """The events up to `last` have been published since the previous call."""
        if not 0 <= now_ns - self._newest_ns < _RESOLUTION_NS:
            self._firsts.append(self._next)
            self._times_ms.append(now_ns // 1_000_000)
            self._newest_ns = now_ns
            if len(self._firsts) > _MAX_MARKS:
                del self._firsts[: _MAX_MARKS // 4]
                del self._times_ms[: _MAX_MARKS // 4]
        self._next = last + 1

    def between(self, first: int, last: int) -> Iterator[tuple[int, int | None]]:
        """Numbers and times: each time is that of the events after the number before it, None if unknown."""
        last = min(last, self._next - 1)
        if last < first:
            return
        index = bisect_right(self._firsts, first) - 1
        end = bisect_left(self._firsts, last + 1)
        if index < 0:
            index = 0
            yield min(last, self._firsts[0] - 1 if self._firsts else last), None
        for position in range(index, end):
            is_newest = position + 1 >= end
            yield (last if is_newest else self._firsts[position + 1] - 1), self._times_ms[position]
