"""Closes instances without activity for --idle-timeout seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sandbox_agent.bridge.instance import Instance

_MAX_INTERVAL_S = 30.0


class IdleInstances:
    def __init__(self, limit_s: float, instances: Iterable[Instance], close: Callable[[str], None]) -> None:
        """Check from now on; `close` gets the server_id of an instance that was inactive for `limit_s`."""
        self._limit_s = limit_s
        self._instances = instances
        self._close = close
        self._inactive_since: dict[Instance, tuple[int, float]] = {}
        """Of inactive instances, the last activity and the loop time at which it was first seen."""
        self._check()

    def end(self) -> None:
        self._next_check.cancel()

    def _check(self) -> None:
        """The wall clock may jump, so it only tells whether there was activity since the last check."""
        loop = running_loop.running_loop()
        seen, self._inactive_since = self._inactive_since, {}
        for instance in self._instances:
            if instance.pending_requests or instance.log.subscribers or instance.status == "starting":
                continue
            activity, since = seen.get(instance, (None, 0.0))
            if activity != instance.last_activity_ms:
                since = loop.time()
            elif loop.time() - since >= self._limit_s:
                self._close(instance.server_id)
                continue
            self._inactive_since[instance] = (instance.last_activity_ms, since)
        self._next_check = loop.call_later(min(self._limit_s / 4, _MAX_INTERVAL_S), self._check)
