"""A network between the page and its server that resets, refuses or swallows, in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from types import TracebackType

from tests.sdk.cutting_proxy import CuttingProxy

START_LIMIT_S = 10


class FaultyNetwork:
    """Runs a `CuttingProxy` beside Playwright, whose synchronous API has an event loop of its own."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._ready = threading.Event()
        self._stop: asyncio.Event | None = None
        self._proxy: CuttingProxy | None = None
        self.port = 0

    def __enter__(self) -> FaultyNetwork:
        self._thread.start()
        assert self._ready.wait(START_LIMIT_S), "the proxy did not start"
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        assert self._stop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(START_LIMIT_S)

    def reset(self) -> None:
        """Reset every open connection; new ones pass."""
        self._loop.call_soon_threadsafe(self.proxy.cut_now)

    def refuse(self) -> None:
        """Reset every connection, open and new, until `heal`."""
        self.proxy.refuse = True
        self.reset()

    def swallow(self) -> None:
        """Let no byte pass in either direction, and end no connection, until `heal`."""
        self._loop.call_soon_threadsafe(self.proxy.silent)

    def heal(self) -> None:
        self.proxy.refuse = False
        self._loop.call_soon_threadsafe(self.proxy.speaks)

    @property
    def proxy(self) -> CuttingProxy:
        assert self._proxy is not None
        return self._proxy

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        self._stop = asyncio.Event()
        async with CuttingProxy("127.0.0.1", self._target) as proxy:
            self._proxy = proxy
            self.port = int(proxy.url.rpartition(":")[2])
            self._ready.set()
            await self._stop.wait()
            proxy.speaks()
