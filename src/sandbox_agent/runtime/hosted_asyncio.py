"""asyncio as a guest of the server's own loop: complete, running, but never the one who waits.

An ordinary asyncio event loop whose selector does not sleep itself: it lets the host go on turning until
asyncio has something to do, because a callback of the host asked for it, a timer is due or one of its own
descriptors is ready. What the host does meanwhile costs nothing extra.
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
        self._own = _HostedSelector(host)
        super().__init__(self._own)
        logs.take_over("asyncio")
        asyncio.set_event_loop(self)

    # Whatever is asked of asyncio comes through one of these two: the host's turning has to end for it.

    def call_soon(  # type: ignore[override]  # the same, without a type for each argument
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        self._own.asked = True
        return super().call_soon(callback, *args, context=context)

    def call_at(  # type: ignore[override]  # as above
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        self._own.asked = True
        return super().call_at(when, callback, *args, context=context)

    def stop(self) -> None:
        self._own.asked = True
        super().stop()


class _HostedSelector(selectors.EpollSelector):
    def __init__(self, host: Loop) -> None:
        super().__init__()
        self._host = host
        self.asked = False
        """Somebody wants something of asyncio, so that it has to look at what it has to do."""
        host.add_reader(self.fileno(), self._is_ready)

    def _is_ready(self) -> None:
        self.asked = True

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        deadline = None if timeout is None else time.monotonic() + timeout
        self.asked = timeout is not None and timeout <= 0
        left = timeout
        while True:
            self._host.turn(left)
            if self.asked:
                break
            if deadline is not None and (left := deadline - time.monotonic()) <= 0:
                break
        return super().select(0)
