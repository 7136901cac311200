"""ACP v2 (draft): an instance is busy until the agent reports that it is idle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.acp import Acp
from tests.support.polling import wait_until
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.ours
INITIALIZE = {"protocolVersion": 2, "info": {"name": "test", "version": "1"}, "capabilities": {}}


def facts(acp: Acp, server_id: str) -> dict[str, Any]:
    listed = acp.client.get("/v1/acp").json()["servers"]
    return next(one for one in listed if one["serverId"] == server_id)


def open_session(acp: Acp, version: int = 2) -> tuple[str, str]:
    server_id = acp.new_id()
    params = {**INITIALIZE, "protocolVersion": version}
    assert acp.call(server_id, "initialize", params, agent="mock")["protocolVersion"] == version
    created = acp.call(server_id, "session/new", {"cwd": "/tmp", "mcpServers": []})  # noqa: S108
    return server_id, created["sessionId"]


def prompt(acp: Acp, server_id: str, session_id: str, text: str) -> Any:
    params = {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}
    return acp.call(server_id, "session/prompt", params)


@pytest.mark.clause("acp-v2-busy")
def test_an_instance_is_busy_from_the_prompt_to_the_idle_state(acp: Acp) -> None:
    server_id, session_id = open_session(acp)
    other = acp.call(server_id, "session/new", {"cwd": "/tmp", "mcpServers": []})["sessionId"]  # noqa: S108
    assert facts(acp, server_id)["pendingRequests"] == 0
    assert "messageId" in prompt(acp, server_id, session_id, "hang")
    assert "messageId" in prompt(acp, server_id, other, "hang")
    assert facts(acp, server_id)["pendingRequests"] == 2
    for left, session in ((1, session_id), (0, other)):
        acp.notify(server_id, "session/cancel", {"sessionId": session})
        wait_until(lambda left=left: facts(acp, server_id)["pendingRequests"] == left, 10, "an idle state")
    for text in ("echo hello", "markdown", "flood 20000", "fail"):
        prompt(acp, server_id, session_id, text)
        wait_until(lambda: facts(acp, server_id)["pendingRequests"] == 0, 20, f"the end of {text}")
    acp.delete(server_id)


@pytest.mark.clause("acp-v2-busy")
def test_an_instance_that_waits_for_its_user_is_busy(acp: Acp) -> None:
    server_id, session_id = open_session(acp)
    prompt(acp, server_id, session_id, "permission")
    with acp.stream(server_id, last_event_id=0) as stream:
        asked = stream.until(lambda event: b"session/request_permission" in event.data)[-1]
        assert facts(acp, server_id)["pendingRequests"] == 1
        outcome = {"outcome": {"outcome": "selected", "optionId": "allow-once"}}
        answer = {"jsonrpc": "2.0", "id": json.loads(asked.data)["id"], "result": outcome}
        assert acp.post(server_id, answer).status == 202
    wait_until(lambda: facts(acp, server_id)["pendingRequests"] == 0, 10, "the end of the turn")
    acp.delete(server_id)


@pytest.mark.clause("acp-v2-busy")
def test_the_end_of_the_process_ends_its_turns(acp: Acp) -> None:
    server_id, session_id = open_session(acp)
    prompt(acp, server_id, session_id, "crash 3")
    wait_until(lambda: facts(acp, server_id)["status"] == "exited", 10, "the exit")
    assert facts(acp, server_id)["pendingRequests"] == 0
    acp.call(server_id, "initialize", {"protocolVersion": 1}, agent="mock")
    session_id = acp.call(server_id, "session/new", {"cwd": "/tmp", "mcpServers": []})["sessionId"]  # noqa: S108
    assert prompt(acp, server_id, session_id, "echo v1")["stopReason"] == "end_turn"
    assert facts(acp, server_id)["pendingRequests"] == 0
    acp.delete(server_id)


@pytest.mark.clause("acp-v2-busy")
def test_a_busy_instance_is_not_closed_for_inactivity(tmp_path: Path) -> None:
    server = ServerProcess(tmp_path, arguments=["--idle-timeout", "1"]).ready()
    try:
        (busy, session_id), (idle, _) = open_session(server.acp), open_session(server.acp)
        prompt(server.acp, busy, session_id, "hang")

        def listed() -> set[str]:
            return {one["serverId"] for one in server.client.get("/v1/acp").json()["servers"]}

        wait_until(lambda: idle not in listed(), 20, "the end of the inactive instance")
        assert busy in listed()
        server.acp.notify(busy, "session/cancel", {"sessionId": session_id})
        wait_until(lambda: not listed(), 20, "the end of the other one")
    finally:
        server.stop()
