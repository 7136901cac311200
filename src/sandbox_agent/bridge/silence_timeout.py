"""The silence of an agent, for the time-outs of waiting calls.

Silence is measured in *active* time, which stops while a request of the agent to the client is unanswered
(for at most 24 hours). The silence of a call is the active time since it was sent or since the agent's last
line, whichever is later. A call whose client has set the limit is measured by the clock alone, which never
stops. The times are arguments: nothing here reads a clock.
"""

from __future__ import annotations

_MAX_STOP_S = 24 * 3600.0
# Bounds the memory for an agent that sends requests without end.
_MAX_OPEN_REQUESTS = 65_536


class SilenceTimeout:
    __slots__ = ("_active", "_last_line", "_last_line_at", "_later_limit_s", "_open", "_since", "limit_s")

    def __init__(self, now: float, first_line_limit_s: float, limit_s: float) -> None:
        self.limit_s = first_line_limit_s
        """The silence allowed for a call without a limit of its own."""
        self._later_limit_s = limit_s
        self._open: dict[bytes, None] = {}
        self._active = 0.0
        self._since = now
        """The time up to which `_active` counts; in the future while active time is stopped."""
        self._last_line = 0.0
        self._last_line_at = now

    def active(self, now: float) -> float:
        return self._active + (now - self._since) if now > self._since else self._active

    def silence(self, sent_at: float, now: float) -> float:
        """The silence of a call that was sent at active time `sent_at`."""
        return self.active(now) - max(sent_at, self._last_line)

    def silence_by_clock(self, sent_at: float, now: float) -> float:
        """The silence of a call that was sent at the time `sent_at`."""
        return now - max(sent_at, self._last_line_at)

    def line(self, now: float) -> None:
        self.limit_s = self._later_limit_s
        self._last_line_at = now
        self._last_line = self.active(now)

    def asked(self, key: bytes, now: float) -> None:
        """The agent has sent a request to the client; active time stops until it is answered."""
        if len(self._open) < _MAX_OPEN_REQUESTS:
            self._open[key] = None
        self._settle(now)
        self._since = now + _MAX_STOP_S

    def answered(self, key: bytes, now: float) -> None:
        if key in self._open:
            del self._open[key]
            if not self._open:
                self._settle(now)

    def _settle(self, now: float) -> None:
        self._active = self.active(now)
        self._since = now
