"""An asyncio event loop that calls the callbacks of `add_reader` and `add_writer` straight from the poll.

asyncio makes a handle, a context and a place in a queue for every descriptor that is ready; that costs more
than a small message does. Here the callback simply runs. Everything else is asyncio's own, so code that uses
`add_reader` works on any loop and is only quicker on this one.
"""

from __future__ import annotations

import asyncio
import math
import os
import select
import selectors
from collections.abc import Callable
from typing import Any, Literal

# What one poll may report; with more ready than that the kernel takes turns.
_MAX_EVENTS = 512
_READ, _WRITE = select.EPOLLIN, select.EPOLLOUT
_Ready = list[tuple[selectors.SelectorKey, int]]


class _Watch:
    __slots__ = ("mask", "reader", "writer")

    def __init__(self) -> None:
        self.mask = 0
        self.reader: Callable[[], object] | None = None
        self.writer: Callable[[], object] | None = None


class _DirectSelector(selectors.EpollSelector):
    def __init__(self) -> None:
        super().__init__()
        # The same epoll instance under a descriptor of our own.
        self._direct = select.epoll.fromfd(os.dup(self.fileno()))
        self.watches: dict[int, _Watch] = {}
        self.on_error: Callable[[BaseException], None] = lambda _: None

    def select(self, timeout: float | None = None) -> _Ready:
        if timeout is None:
            timeout = -1
        elif timeout > 0:
            timeout = math.ceil(timeout * 1000) / 1000  # Rounded down it would poll in a circle until due.
        try:
            events = self._direct.poll(max(timeout, -1), _MAX_EVENTS)
        except InterruptedError:
            return []
        ready: _Ready = []
        for fd, event in events:
            watch = self.watches.get(fd)
            if watch is None:
                self._report(fd, event, ready)
                continue
            try:
                if event & ~_WRITE and watch.reader is not None:
                    watch.reader()
                if event & ~_READ and watch.writer is not None:
                    watch.writer()
            except Exception as error:
                self.on_error(error)
        return ready

    def _report(self, fd: int, event: int, ready: _Ready) -> None:
        """A descriptor of asyncio's own, as it expects it; one that is gone by now is nobody's."""
        key = self.get_map().get(fd)
        if key is not None:
            mask = (selectors.EVENT_READ if event & ~_WRITE else 0) | (
                selectors.EVENT_WRITE if event & ~_READ else 0
            )
            ready.append((key, mask & key.events))

    def change(
        self, fd: int, side: Literal["reader", "writer"], callback: Callable[[], object] | None
    ) -> bool:
        """Set or clear one side of a descriptor; whether there was one before."""
        watch = self.watches.get(fd)
        if watch is None:
            if callback is None:
                return False
            watch = _Watch()
        had_one = getattr(watch, side) is not None
        setattr(watch, side, callback)
        self._watch(fd, watch)
        return had_one

    def _watch(self, fd: int, watch: _Watch) -> None:
        mask = (_READ if watch.reader else 0) | (_WRITE if watch.writer else 0)
        if not mask:
            del self.watches[fd]
            self._direct.unregister(fd)
        elif not watch.mask:
            self._direct.register(fd, mask)
            self.watches[fd] = watch
        elif mask != watch.mask:
            self._direct.modify(fd, mask)
        watch.mask = mask

    def close(self) -> None:
        self._direct.close()
        super().close()


class DirectLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._watching = _DirectSelector()
        super().__init__(self._watching)
        self._watching.on_error = self._callback_failed

    def _callback_failed(self, error: BaseException) -> None:
        self.call_exception_handler({"message": "a callback for a descriptor failed", "exception": error})

    def add_reader(  # type: ignore[override]  # the same, without a type for each argument
        self, fd: Any, callback: Callable[..., Any], *args: Any
    ) -> None:
        self._watching.change(_number(fd), "reader", _with_arguments(callback, args))

    def add_writer(  # type: ignore[override]  # the same, without a type for each argument
        self, fd: Any, callback: Callable[..., Any], *args: Any
    ) -> None:
        self._watching.change(_number(fd), "writer", _with_arguments(callback, args))

    def remove_reader(self, fd: Any) -> bool:
        return self._watching.change(_number(fd), "reader", None)

    def remove_writer(self, fd: Any) -> bool:
        return self._watching.change(_number(fd), "writer", None)


def _number(fd: Any) -> int:
    number: int = fd if isinstance(fd, int) else fd.fileno()
    return number


def _with_arguments(callback: Callable[..., Any], arguments: tuple[Any, ...]) -> Callable[[], Any]:
    return (lambda: callback(*arguments)) if arguments else callback
