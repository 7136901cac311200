"""Which connection is given up when the limit of instances is reached."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox_agent.http.acp_remote.connections import RemoteConnections
from sandbox_agent.http.acp_remote.remote_connection import FIRST_STREAM_S
from tests.http.acp_remote.clock_loop import ClockLoop


@pytest.mark.clause("remote-detach")
def test_a_connection_without_any_client_makes_room_once_its_first_client_is_overdue() -> None:
    loop = ClockLoop()
    registry: Any = SimpleNamespace(
        for_post=lambda server_id, _: SimpleNamespace(server_id=server_id, log=SimpleNamespace(closed=False)),
        exit_listeners=[],
    )

    async def run() -> None:
        connections = RemoteConnections(registry, SimpleNamespace(acp_detach=600.0))  # type: ignore[arg-type]
        first, second, third = (connections.start_socket(SimpleNamespace()) for _ in range(3))  # type: ignore[arg-type]
        second.attached()
        loop.now = FIRST_STREAM_S - 1
        assert registry.find_expendable() is None
        third.attached()
        third.detached()
        loop.now = FIRST_STREAM_S + 10
        assert [registry.find_expendable() for _ in range(3)] == [third.id, first.id, None]
        second.close()

    asyncio.set_event_loop(loop)
    try:
        loop.run_until_complete(run())
    finally:
        asyncio.set_event_loop(None)
        loop.close()
