"""How long an agent has been silent, for the time-outs of waiting calls.

Time is counted as *active* time, which stands still while a request of the agent to the client is
unanswered (for 24 hours at most). A call's silence is the active time since it was sent or since the agent's
last line, whichever is later. Pure arithmetic on times handed in: nothing here reads a clock.
"""

from __future__ import annotations

_LONGEST_STANDSTILL_S = 24 * 3600.0
# An agent that asks without end is not tracked without end.
_MAX_OPEN_QUESTIONS = 65_536


class SilenceClock:
    __slots__ = ("_active", "_last_line", "_later_limit_s", "_open", "_since", "limit_s")

    def __init__(self, now: float, first_line_limit_s: float, limit_s: float) -> None:
        self.limit_s = first_line_limit_s
        """The silence allowed to a call that does not set its own limit."""
        self._later_limit_s = limit_s
        self._open: dict[bytes, None] = {}
        self._active = 0.0
        self._since = now
        """When active time was last settled, or will go on: in the future while it stands still."""
        self._last_line = 0.0

    def active(self, now: float) -> float:
        return self._active + (now - self._since) if now > self._since else self._active

    def silence(self, sent_at: float, now: float) -> float:
        """Silence of a call that was sent at active time `sent_at`."""
        return self.active(now) - max(sent_at, self._last_line)

    def line(self, now: float) -> None:
        self.limit_s = self._later_limit_s
        self._last_line = self.active(now)

    def asked(self, key: bytes, now: float) -> None:
        """The agent asked its client something; time stands still until it is answered."""
        if len(self._open) < _MAX_OPEN_QUESTIONS:
            self._open[key] = None
        self._settle(now)
        self._since = now + _LONGEST_STANDSTILL_S

    def answered(self, key: bytes, now: float) -> None:
        if key in self._open:
            del self._open[key]
            if not self._open:
                self._settle(now)

    def _settle(self, now: float) -> None:
        self._active = self.active(now)
        self._since = now
