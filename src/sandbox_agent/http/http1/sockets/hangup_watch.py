"""Tells when a client leaves whose socket is not being read.

A connection is not read while another of its requests waits. The end of the client's data, or a reset, would
be seen only when that request has its turn, and behind an event stream it never has. An epoll of its own,
which the event loop reads, reports both without a byte being read.
"""

from __future__ import annotations

import select
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.runtime.loop import Loop


class HangupWatch:
    def __init__(self, loop: Loop) -> None:
        self._epoll = select.epoll()
        self._callbacks: dict[int, Callable[[], object]] = {}
        loop.add_reader(self._epoll.fileno(), self._report)

    def watch(self, fd: int, callback: Callable[[], object], *, only_reset: bool) -> None:
        """Call `callback` when the connection is reset, or earlier: when the peer sends no more."""
        events = 0 if only_reset else select.EPOLLRDHUP  # The kernel reports resets in any case.
        if fd in self._callbacks:
            self._epoll.modify(fd, events)
        else:
            self._epoll.register(fd, events)
        self._callbacks[fd] = callback

    def forget(self, fd: int) -> None:
        """Without effect if `fd` is not watched; has to be called before it is closed."""
        if self._callbacks.pop(fd, None) is not None:
            self._epoll.unregister(fd)

    def _report(self) -> None:
        for fd, _ in self._epoll.poll(0):
            if (callback := self._callbacks.get(fd)) is not None:
                callback()
