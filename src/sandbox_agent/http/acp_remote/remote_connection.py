"""A connection of ACP's own remote transport: one instance, and whether a client is there.

A connection is attached while at least one stream or WebSocket of it is open. A client that was lost has
`detach_s` to come back; then the connection is ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import SandboxAgentError, Timeout
from sandbox_agent.http.acp.reply import as_json_rpc
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.bridge.instance import Instance
    from sandbox_agent.bridge.pending_calls import Answer

# A client opens its first stream right after `initialize`; this is for one that never does.
FIRST_STREAM_S = 60.0


class RemoteConnection:
    def __init__(self, instance: Instance, detach_s: float, end: Callable[[RemoteConnection], None]) -> None:
        """`end` is called when no client has come back in time."""
        self.instance = instance
        self.has_ended = False
        """The agent has exited: streams end after the last message."""
        self._detach_s = detach_s
        self._end = end
        self._attached = 0
        self._loop = running_loop.running_loop()
        self._detached_at: float | None = self._loop.time() + FIRST_STREAM_S
        """When the last client has left; None while one is attached. A first one has its time to come."""
        self._timer: running_loop.Timer | None = None
        self.wait_for_client(max(detach_s, FIRST_STREAM_S))

    @property
    def id(self) -> str:
        return self.instance.server_id

    @property
    def log(self) -> EventLog:
        return self.instance.log

    # ---- clients -----------------------------------------------------------------------------------------

    @property
    def detached_s(self) -> float:
        """For how long the connection has been without a client; 0 with one, and before the first is due."""
        return 0.0 if self._detached_at is None else max(0.0, self._loop.time() - self._detached_at)

    def attached(self) -> None:
        self._attached += 1
        self._detached_at = None
        self._stop_timer()

    def detached(self) -> None:
        self._attached -= 1
        if not self._attached:
            self._detached_at = self._loop.time()
            if self.log.closed or not self._detach_s:
                self._end(self)
            else:
                self.wait_for_client(self._detach_s)

    def wait_for_client(self, limit_s: float) -> None:
        """End the connection after `limit_s`, unless a client attaches."""
        self._stop_timer()
        self._timer = self._loop.call_later(limit_s, self._end, self)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---- messages ----------------------------------------------------------------------------------------

    def call(self, raw_id: bytes, body: bytes) -> None:
        """Send a request; a failure becomes its answer on the stream. Raises SandboxAgentError."""

        def failed(answer: Answer) -> None:
            # After a time-out the answer of the agent may still come.
            if isinstance(answer, SandboxAgentError) and not isinstance(answer, Timeout):
                self.log.publish_line(as_json_rpc(raw_id, answer))

        self.instance.call(raw_id, body, failed, None)

    # ---- end ---------------------------------------------------------------------------------------------

    def agent_exited(self) -> None:
        """The agent has exited; what it wrote is published."""
        self.has_ended = True

    def close(self) -> None:
        """The instance is closed, which has ended every stream."""
        self._stop_timer()
