"""The members of a session by the names of the TypeScript SDK, in snake_case.

Code that was written for that SDK can be carried over line by line; each name leads to the member that
does the work. The client's names are in `flat_names`.
"""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Self

from sandbox_agent.sdk.session.callbacks import PermissionRequest
from sandbox_agent.sdk.session.config.config_options import ConfigOption
from sandbox_agent.sdk.session.config.session_config import SessionConfig
from sandbox_agent.sdk.session.session_channel import SessionChannel
from sandbox_agent.sdk.session.session_events import SessionEvents
from sandbox_agent.sdk.stores import SessionRecord
from sandbox_agent.sdk.universal import PermissionRequested, UniversalEvent

PermissionListener = Callable[[PermissionRequest], Awaitable[object] | object]
"""Is told of a permission request, sync or async; what it returns does not matter."""


class AsyncSessionNames:
    """TypeScript names beside the session's own."""

    _channel: SessionChannel
    _config: SessionConfig
    _events: SessionEvents

    @property
    def agent_session_id(self) -> str:
        """The agent's own id of the session; see `native_session_id`."""
        return self._channel.record.agent_session_id

    @property
    def last_connection_id(self) -> str:
        """The `server_id` of the agent process the session was last bound to."""
        return self._channel.record.last_connection_id

    @property
    def created_at(self) -> int:
        """When the session was made, in milliseconds since the epoch."""
        return self._channel.record.created_at

    @property
    def destroyed_at(self) -> int | None:
        """When the session was ended for good, in milliseconds since the epoch."""
        return self._channel.record.destroyed_at

    def to_record(self) -> SessionRecord:
        """The session's record; only the store knows its `last_event_id`."""
        return self._channel.record

    async def refresh(self) -> Self:
        """Read the record again, as another client of the same store may have changed it."""
        await self._channel.refresh()
        return self

    @abstractmethod
    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Send any ACP request."""

    @abstractmethod
    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any ACP notification."""

    async def raw_send(
        self, method: str, params: Mapping[str, Any] | None = None, *, notification: bool = False
    ) -> Any:
        """`request`, or `notify` with `notification`."""
        return await (self.notify if notification else self.request)(method, params)

    async def get_config_options(self) -> list[ConfigOption]:
        """`config_options`."""
        return self._config.options

    async def get_modes(self) -> list[str]:
        """`modes`."""
        return self._config.modes

    def on_permission_request(self, listener: PermissionListener) -> Callable[[], None]:
        """Tell the listener of every permission request from now on; returns the way to stop.

        The request stays open for `respond_permission`. If the listener fails, it is cancelled.
        """

        async def tell(event: UniversalEvent) -> None:
            if not isinstance(event, PermissionRequested):
                return
            requests = self._channel.requests
            asked = next((one for one in requests.permissions if one.id == event.data.permission_id), None)
            if asked is None:
                return
            try:
                told = listener(asked)
                if inspect.isawaitable(told):
                    await told
            except Exception:
                if any(one.id == asked.id for one in requests.permissions):
                    await requests.cancel_permission(asked.id)
                raise

        return self._events.on_event(tell, "permission.requested")

    async def respond_permission(self, permission_id: str, reply: str) -> None:
        """`reply_permission`."""
        await self._channel.requests.reply_permission(permission_id, reply)

    async def raw_respond_permission(self, permission_id: str, response: Mapping[str, Any]) -> None:
        """Answer with an ACP `RequestPermissionResponse`, sent as it is."""
        await self._channel.requests.answer_permission(permission_id, response)
