"""Early headers for POSTs that wait long for their agent (decision 15)."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from sandbox_agent.http.acp.reply import PostReply


class EarlyHeaders:
    """Sends headers, then spaces, to all waiting replies, with one timer for all of them."""

    def __init__(self, after_s: float, interval_s: float) -> None:
        self._after_s = after_s
        self._interval_s = interval_s
        self.due: dict[PostReply, float] = {}
        """When each reply sends something next; a settled reply removes itself."""
        self._timer: running_loop.Timer | None = None

    def watch(self, reply: PostReply) -> None:
        due = monotonic() + self._after_s
        if self._timer is None:
            self._timer = running_loop.running_loop().call_at(due, self._send)
        reply.early_headers = self
        self.due[reply] = due

    def _send(self) -> None:
        now = monotonic()
        for reply, due in list(self.due.items()):
            if due <= now:
                self.due[reply] = now + self._interval_s
                reply.send_filler()
        self._timer = None
        if self.due:
            self._timer = running_loop.running_loop().call_at(min(self.due.values()), self._send)
