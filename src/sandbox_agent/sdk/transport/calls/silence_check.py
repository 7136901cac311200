"""Fails waiting calls when the server has been silent for too long: a broken network reports no error."""

from __future__ import annotations

import asyncio
import math

from sandbox_agent.sdk.transport.calls.answer_recovery import unknown_delivery
from sandbox_agent.sdk.transport.calls.pending_calls import PendingCalls
from sandbox_agent.sdk.transport.http_api import HttpApi
from sandbox_agent.sdk.transport.streams.stream_reader import StreamReader


class SilenceCheck:
    """Watches the calls of one connection while its stream is down."""

    def __init__(self, calls: PendingCalls, reader: StreamReader, api: HttpApi) -> None:
        self._calls = calls
        self._reader = reader
        self._api = api
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """The stream broke: check now, and again when the first call could have waited long enough."""
        if self._timer is None:
            self._check()

    def stop(self) -> None:
        """The connection is closed, or the agent is gone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        if self._reader.connected:
            return
        loop, patience = asyncio.get_running_loop(), self._api.network_patience_s
        first = math.inf
        for call in self._calls:
            silent_since = max(self._reader.last_heard, call.began)
            if loop.time() - silent_since >= patience:
                call.fail(unknown_delivery(call.method, None))
            else:
                first = min(first, silent_since)
        if first < math.inf:
            self._timer = loop.call_at(first + patience, self._check)
