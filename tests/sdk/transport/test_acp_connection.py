"""`AcpConnection` reads the kind of an error answer, not its text."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from sandbox_agent import AgentExitedError, BadRequestError
from sandbox_agent.sdk.errors import SandboxAgentError
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.transport.acp_connection import AcpConnection
from sandbox_agent.sdk.transport.http_api import HttpApi
from sandbox_agent.sdk.transport.streams.stream_reader import Gap

INVALID = {"type": "urn:sandbox-agent:error:invalid_request", "status": 400, "detail": "in any language"}
GONE = {"type": "urn:sandbox-agent:error:session_not_found", "status": 404, "detail": "in any language"}


class Listener:
    def __init__(self) -> None:
        self.lost: list[SandboxAgentError] = []

    def message_received(self, envelope: Envelope, event_id: int | None) -> None:
        raise AssertionError("the agent says nothing")

    def events_lost(self, gap: Gap) -> None:
        raise AssertionError("no event is lost")

    def instance_lost(self, error: SandboxAgentError) -> None:
        self.lost.append(error)


def connection(problem: dict[str, Any], servers: list[dict[str, Any]], listener: Listener) -> AcpConnection:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.method == "GET":
            return httpx.Response(200, json={"servers": servers})
        return httpx.Response(problem["status"], content=json.dumps(problem))

    return AcpConnection(HttpApi("http://x", transport=httpx.MockTransport(answer)), "one", listener)


@pytest.mark.parametrize(("problem", "servers"), [(INVALID, []), (GONE, []), (GONE, [{"serverId": "one"}])])
async def test_an_instance_the_server_does_not_have_is_gone(
    problem: dict[str, Any], servers: list[dict[str, Any]]
) -> None:
    listener = Listener()
    acp = connection(problem, servers, listener)
    with pytest.raises(AgentExitedError) as failure:
        await acp.request("session/prompt", {})
    assert failure.value.vanished and failure.value.never_delivered
    assert [str(error) for error in listener.lost] == [str(failure.value)]
    await acp.close(delete=False)


async def test_an_invalid_request_to_a_listed_instance_is_only_that() -> None:
    listener = Listener()
    acp = connection(INVALID, [{"serverId": "one"}], listener)
    with pytest.raises(BadRequestError):
        await acp.request("session/prompt", {})
    with pytest.raises(BadRequestError):
        await acp.notify("session/cancel", {})
    assert listener.lost == []
    await acp.close(delete=False)
