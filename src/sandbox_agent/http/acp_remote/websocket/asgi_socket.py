"""A WebSocket of an ASGI server with the interface that `SocketReceiver` uses."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING

from sandbox_agent.http.messages import ClientDisconnected

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sandbox_agent.http.websocket import WebSocket


class AsgiSocket:
    """What is sent is queued; `run` sends it."""

    def __init__(self, websocket: WebSocket, changed: Callable[[], None]) -> None:
        self._websocket = websocket
        self._changed = changed
        self._received: deque[str | bytes] = deque()
        self._unsent: deque[bytes] = deque()
        self._close: tuple[int, str] | None = None
        self._has_work = asyncio.Event()
        self.is_open = True

    @property
    def can_write(self) -> bool:
        return self.is_open and not self._unsent

    @property
    def close_code(self) -> tuple[int, str]:
        return self._websocket.close_code, ""

    def take(self) -> str | bytes | None:
        return self._received.popleft() if self._received else None

    def send_texts(self, messages: Iterable[bytes]) -> None:
        self._unsent.extend(messages)
        self._has_work.set()

    def close(self, code: int, reason: str = "") -> None:
        self._close = code, reason
        self._has_work.set()

    async def run(self) -> None:
        """Receive and send until either side has closed."""
        receiving = asyncio.ensure_future(self._receive())
        sending = asyncio.ensure_future(self._send())
        try:
            await asyncio.wait((receiving, sending), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (receiving, sending):
                task.cancel()
            results = await asyncio.gather(receiving, sending, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception) and not isinstance(result, ClientDisconnected):
                raise result

    async def _receive(self) -> None:
        while True:
            self._received.append(await self._websocket.receive())
            self._changed()

    async def _send(self) -> None:
        while self._close is None or self._unsent:
            while self._unsent:
                message = self._unsent[0].decode()
                await self._websocket.send(message)
                self._unsent.popleft()
            self._changed()
            if not self._unsent and self._close is None:
                self._has_work.clear()
                await self._has_work.wait()
        await self._websocket.close(*self._close)
