"""An asyncio event loop that is hosted by the server's own loop.

It is a complete asyncio loop whose selector does not sleep. Instead, `select` runs turns of the server's loop
until asyncio has something to do: a callback was scheduled, a timer is due, or one of its descriptors is
ready. The work of the server's loop has no overhead from this.
"""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sandbox_agent import logs

if TYPE_CHECKING:
    from contextvars import Context

    from sandbox_agent.runtime.loop import Loop


class HostedAsyncio(asyncio.SelectorEventLoop):
    def __init__(self, host: Loop) -> None:
        self._hosted_selector = _HostedSelector(host)
        try:
            super().__init__(self._hosted_selector)
        except OSError:
            self._closed = True  # what `__del__` looks at
            self._hosted_selector.close()
            raise
        logs.forward("asyncio")
        asyncio.set_event_loop(self)

    # Everything that is scheduled on asyncio passes through one of these methods, so `select` has to return.

    def call_soon(  # type: ignore[override]  # the same without typed arguments
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        self._hosted_selector.has_work = True
        return super().call_soon(callback, *args, context=context)

    def call_at(  # type: ignore[override]  # as above
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self._hosted_selector.has_work = True
        return super().call_at(when, callback, *args, context=context)

    def stop(self) -> None:
        self._hosted_selector.has_work = True
        super().stop()


class _HostedSelector(selectors.EpollSelector):
    def __init__(self, host: Loop) -> None:
        super().__init__()
        self._host = host
        self.has_work = False
        """asyncio has something to do, so `select` returns."""
        host.add_reader(self.fileno(), self._is_ready)

    def _is_ready(self) -> None:
        self.has_work = True

    def close(self) -> None:
        self._host.remove_reader(self.fileno())
        super().close()

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        deadline = None if timeout is None else time.monotonic() + timeout
        self.has_work = timeout is not None and timeout <= 0
        left = timeout
        while True:
            self._host.turn(left)
            if self.has_work:
                break
            if deadline is not None and (left := deadline - time.monotonic()) <= 0:
                break
        return super().select(0)
