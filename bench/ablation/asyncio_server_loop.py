"""The server on an ordinary asyncio loop in place of its own, for the ablation table."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from sandbox_agent.runtime import loop as runtime_loop


class AsyncioServerLoop(asyncio.SelectorEventLoop):
    """The methods of `runtime.loop.Loop` that asyncio does not have, by those that it has."""

    def __init__(self, busy_poll_s: float = 0.0, reserved_descriptors: int = 0) -> None:
        """Neither polls nor reserves descriptors."""
        super().__init__()
        self._server_thread = threading.get_ident()
        asyncio.set_event_loop(self)

    @property
    def is_running_here(self) -> bool:
        return self._server_thread == threading.get_ident()

    def run(self) -> None:
        self.run_forever()

    def on_signal(self, number: int, callback: Callable[[], object]) -> None:
        self.add_signal_handler(number, callback)

    def in_thread(self, job: Callable[[], Any], done: Callable[[Any, BaseException | None], object]) -> None:
        def finished(future: asyncio.Future[Any]) -> None:
            error = future.exception()
            done(future.result() if error is None else None, error)

        self.run_in_executor(None, job).add_done_callback(finished)

    def release_reserve(self) -> bool:
        return False

    def refill_reserve(self) -> None:
        pass

    def when_asyncio(self, callback: Callable[[], object]) -> None:
        if self.is_running():
            callback()
        else:
            self.call_soon(callback)


def install() -> None:
    """Replace the server's loop. To be called before other modules import it."""
    runtime_loop.Loop = AsyncioServerLoop  # type: ignore[assignment, misc]
