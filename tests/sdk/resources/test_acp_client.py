"""ACP without sessions, synchronous and asynchronous."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sandbox_agent import AgentExitedError, AsyncSandboxAgent, MethodNotFoundError, SandboxAgent, asgi
from sandbox_agent import UnsupportedAgentError as Unsupported
from tests.sdk.conftest import within_a_second

TEXT = {"type": "text", "text": "permission"}


@pytest.mark.clause("sdk-low-level-client")
async def test_requests_messages_and_answers_pass_as_they_are(
    client: AsyncSandboxAgent, tmp_path: Path
) -> None:
    async with await client.acp.connect("mock", server_id="mine", directory=str(tmp_path)) as acp:
        assert acp.init_result["protocolVersion"] == 1
        assert [one.server_id for one in await client.acp.list()] == ["mine"]
        session = (await acp.request("session/new", {"cwd": str(tmp_path), "mcpServers": []}))["sessionId"]
        turn = asyncio.create_task(acp.request("session/prompt", {"sessionId": session, "prompt": [TEXT]}))
        said: list[str] = []
        async for message in acp.messages():
            if message.get("method") == "session/request_permission":
                chosen = message["params"]["options"][0]["optionId"]
                await acp.respond(message["id"], {"outcome": {"outcome": "selected", "optionId": chosen}})
            said.append(str(message.get("method")))
            if "result" in message and "stopReason" in message["result"]:
                break
        assert (await turn)["stopReason"] == "end_turn" and "session/update" in said
        await acp.notify("session/cancel", {"sessionId": session})
        with pytest.raises(MethodNotFoundError):
            await acp.request("no/such/method")
    assert await client.acp.list() == []


@pytest.mark.clause("sdk-low-level-client")
async def test_the_end_of_the_agent_ends_the_messages(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    acp = await client.acp.connect("mock", directory=str(tmp_path))
    session = (await acp.request("session/new", {"cwd": str(tmp_path), "mcpServers": []}))["sessionId"]
    crash = {"sessionId": session, "prompt": [{"type": "text", "text": "crash 5"}]}
    with within_a_second(), pytest.raises(AgentExitedError) as failure:
        await acp.request("session/prompt", crash)
    assert failure.value.exit_code == 5
    with pytest.raises(AgentExitedError):
        async for _ in acp.messages():
            pass
    await acp.aclose()
    with pytest.raises(Unsupported):
        await client.acp.connect("nobody")


@pytest.mark.clause("sdk-low-level-client")
def test_the_same_without_a_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with SandboxAgent.start(asgi()) as client, client.acp.connect("mock") as acp:
        session = acp.request("session/new", {"cwd": "/", "mcpServers": []})["sessionId"]
        prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "echo hi"}]}
        assert acp.request("session/prompt", prompt)["stopReason"] == "end_turn"
        chunks = (one for one in acp.messages() if "agent_message_chunk" in str(one))
        assert next(chunks)["params"]["update"]["content"]["text"] == "hi"
        chunks.close()
