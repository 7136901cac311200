"""Closes instances that nobody has used for a while, where the settings ask for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sandbox_agent.bridge.instance import Instance

_LONGEST_PAUSE_S = 30.0


class InactivityCheck:
    def __init__(self, limit_s: float, living: Iterable[Instance], close: Callable[[str], None]) -> None:
        """Look from now on; `close` gets the server_id of what nobody has used for `limit_s`."""
        self._limit_s = limit_s
        self._living = living
        self._close = close
        self._unused_since: dict[Instance, tuple[int, float]] = {}
        """Last activity and the loop's time at which it was first seen, of instances nobody uses."""
        self._look()

    def end(self) -> None:
        self._next_look.cancel()

    def _look(self) -> None:
        """The wall clock may jump, so it only tells whether something has happened since the last look."""
        loop = running_loop.running_loop()
        seen, self._unused_since = self._unused_since, {}
        for instance in self._living:
            if instance.pending_requests or instance.log.readers or instance.status == "starting":
                continue
            activity, since = seen.get(instance, (None, 0.0))
            if activity != instance.last_activity_ms:
                since = loop.time()
            elif loop.time() - since >= self._limit_s:
                self._close(instance.server_id)
                continue
            self._unused_since[instance] = (instance.last_activity_ms, since)
        self._next_look = loop.call_later(min(self._limit_s / 4, _LONGEST_PAUSE_S), self._look)
