"""A connection over WebSocket: one stream with every message of the log, so nothing is routed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent.http.acp_remote.remote_connection import RemoteConnection

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from sandbox_agent.bridge.instance import Instance

    class Receiver(Protocol):
        def pump(self) -> None:
            """The agent has exited."""

        def replace(self) -> None:
            """Another receiver has taken over the connection."""


_SECRET_BYTES = 24


class SocketConnection(RemoteConnection):
    def __init__(self, instance: Instance, detach_s: float, end: Callable[[RemoteConnection], None]) -> None:
        super().__init__(instance, detach_s, end)
        self.secret = os.urandom(_SECRET_BYTES).hex().encode()
        """A client that resumes the connection has to know it: the id is in the list of instances."""
        self.is_initialized = False
        self.receiver: Receiver | None = None

    def agent_exited(self) -> None:
        super().agent_exited()
        if self.receiver is not None:
            self.receiver.pump()
