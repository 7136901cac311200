"""The members of a session by the names of the TypeScript SDK, from code without an event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Self

from sandbox_agent.sdk.session.callbacks import PermissionRequest
from sandbox_agent.sdk.session.config.config_options import ConfigOption
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.sdk.stores import SessionRecord
from sandbox_agent.sdk.sync.portal import Portal


class SessionNames:
    """TypeScript names beside the session's own."""

    _portal: Portal
    _session: AsyncSession

    @property
    def agent_session_id(self) -> str:
        """The agent's own id of the session; see `native_session_id`."""
        return self._session.agent_session_id

    @property
    def last_connection_id(self) -> str:
        """The `server_id` of the agent process the session was last bound to."""
        return self._session.last_connection_id

    @property
    def created_at(self) -> int:
        """When the session was made, in milliseconds since the epoch."""
        return self._session.created_at

    @property
    def destroyed_at(self) -> int | None:
        """When the session was ended for good, in milliseconds since the epoch."""
        return self._session.destroyed_at

    def to_record(self) -> SessionRecord:
        """The session's record; only the store knows its `last_event_id`."""
        return self._session.to_record()

    def refresh(self) -> Self:
        """Read the record again, as another client of the same store may have changed it."""
        self._portal.run(self._session.refresh())
        return self

    def raw_send(
        self, method: str, params: Mapping[str, Any] | None = None, *, notification: bool = False
    ) -> Any:
        """`request`, or `notify` with `notification`."""
        return self._portal.run(self._session.raw_send(method, params, notification=notification))

    def get_config_options(self) -> list[ConfigOption]:
        """`config_options`."""
        return self._portal.run(self._session.get_config_options())

    def get_modes(self) -> list[str]:
        """`modes`."""
        return self._portal.run(self._session.get_modes())

    def on_permission_request(self, listener: Callable[[PermissionRequest], object]) -> Callable[[], None]:
        """Tell the listener, in a thread, of every permission request from now on; returns the way to stop.

        The request stays open for `respond_permission`. If the listener fails, it is cancelled.
        """

        async def in_thread(request: PermissionRequest) -> None:
            await asyncio.to_thread(listener, request)

        stop = self._portal.call(lambda: self._session.on_permission_request(in_thread))
        return lambda: self._portal.call(stop)

    def respond_permission(self, permission_id: str, reply: str) -> None:
        """`reply_permission`."""
        self._portal.run(self._session.respond_permission(permission_id, reply))

    def raw_respond_permission(self, permission_id: str, response: Mapping[str, Any]) -> None:
        """Answer with an ACP `RequestPermissionResponse`, sent as it is."""
        self._portal.run(self._session.raw_respond_permission(permission_id, response))
