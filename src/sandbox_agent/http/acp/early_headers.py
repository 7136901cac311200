"""Early headers for POSTs that wait long for their agent (decision 15)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.http.acp.reply import PostReply


class EarlyHeaders:
    """Sends headers, then spaces, to all waiting replies, with one timer for all of them."""

    def __init__(self, after_s: float, interval_s: float) -> None:
        self._after_s = after_s
        self._interval_s = interval_s
        self.due: dict[PostReply, float] = {}
        """When each reply sends something next; a settled reply removes itself."""
        self._timer: running_loop.Timer | None = None
        self._now: Callable[[], float] = lambda: 0.0

    def watch(self, reply: PostReply) -> None:
        if reply.settled:
            return
        if self._timer is None:
            loop = running_loop.running_loop()
            self._now = loop.time
            self._timer = loop.call_later(self._after_s, self._send)
        reply.early_headers = self
        self.due[reply] = self._now() + self._after_s

    def _send(self) -> None:
        loop = running_loop.running_loop()
        now = loop.time()
        for reply, due in list(self.due.items()):
            if due <= now:
                self.due[reply] = now + self._interval_s
                reply.send_filler()
        self._timer = None
        if self.due:
            self._timer = loop.call_at(min(self.due.values()), self._send)
