"""`env`, `system_prompt`, `allowed_tools`, `max_cost` and `max_turns` of a session."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import (
    AsyncSandboxAgent,
    AsyncSession,
    LimitExceededError,
    UnsupportedSessionOptionError,
    asgi,
)
from tests.sdk.conftest import Connect

pytestmark = pytest.mark.clause("sdk-agent-options")
# Calls a tool again and again until it is cancelled: each round is an answer of the model.
LOOPING_AGENT = """
import json, sys, threading, time

cancelled = threading.Event()

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def update(**fields):
    send(method="session/update", params={"sessionId": "s1", "update": fields})

def run(request_id):
    rounds = 0
    while not cancelled.wait(0.01) and rounds < 500:
        rounds += 1
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": f"round {rounds} "})
        call = f"call-{rounds}"
        update(sessionUpdate="tool_call", toolCallId=call, title="ls", kind="read", status="pending")
        update(sessionUpdate="tool_call_update", toolCallId=call, status="completed")
        if "--cost" in sys.argv:
            cost = {"amount": 0.1 * rounds, "currency": "USD"}
            update(sessionUpdate="usage_update", used=rounds, size=1000, cost=cost)
    send(id=request_id, result={"stopReason": "cancelled" if cancelled.is_set() else "end_turn"})

for line in sys.stdin:
    request = json.loads(line)
    method = request.get("method")
    if method == "initialize":
        offered = {"sessionCapabilities": {"systemPrompt": {}}} if "--cost" in sys.argv else {}
        send(id=request["id"], result={"protocolVersion": 1, "agentCapabilities": offered})
    elif method == "session/new":
        send(id=request["id"], result={"sessionId": "s1"})
    elif method == "session/prompt":
        cancelled.clear()
        threading.Thread(target=run, args=(request["id"],), daemon=True).start()
    elif method == "session/cancel":
        cancelled.set()
"""


def environment_of(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


async def info(session: AsyncSession) -> dict[str, Any]:
    """What the mock agent knows of its session."""
    facts: dict[str, Any] = json.loads((await session.prompt("info")).text)
    return facts


async def test_variables_reach_the_process_and_are_not_stored(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock", env={"GREETING": "of-this-session"})
    plain = await client.sessions.create("mock")
    same = await client.sessions.create("mock", env={"GREETING": "of-this-session"})
    pids = [(await info(one))["pid"] for one in (session, plain, same)]
    assert pids[0] == pids[2] != pids[1]
    assert b"GREETING=of-this-session" in environment_of(pids[0])
    assert "of-this-session" not in repr(await client.sessions.get(session.id))
    assert "of-this-session" not in str(await session.raw_events())
    # A restored process has them again; a resumed session needs them again.
    with pytest.raises(Exception, match="crash"):
        await session.prompt("crash")
    again = await info(session)
    assert b"GREETING=of-this-session" in environment_of(again["pid"])
    await session.aclose()
    await same.aclose()
    resumed = await client.sessions.resume(session.id)
    assert "GREETING" in resumed.restored.not_applied["env"]


async def test_variables_of_a_session_are_added_to_those_of_the_client(connect: Connect) -> None:
    header = {"X-Sandbox-Agent-Env": json.dumps({"GREETING": "of-all", "LANGUAGE_CODE": "en"})}
    client = await connect(headers=header)
    session = await client.sessions.create("mock", env={"GREETING": "of-this-session"})
    variables = environment_of((await info(session))["pid"])
    assert b"GREETING=of-this-session" in variables and b"LANGUAGE_CODE=en" in variables
    other = await connect(headers={"X-Sandbox-Agent-Env": "production"})
    with pytest.raises(UnsupportedSessionOptionError, match="names the profile 'production'"):
        await other.sessions.create("mock", env={"GREETING": "of-this-session"})


async def test_tools_reach_an_agent_that_has_a_place_for_them(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock", allowed_tools=["read"])
    assert (await info(session))["tools"] == ["read"]
    await session.aclose()
    again = await client.sessions.resume(session.id)
    assert (await info(again))["tools"] == ["read"]


async def test_a_system_prompt_is_a_parameter_of_the_session(looping: AsyncSandboxAgent) -> None:
    session = await looping.sessions.create("paid", system_prompt="Be brief.")
    opening = next(one for one in await session.raw_events() if one.get("method") == "session/new")
    wanted = {"mode": "append", "content": [{"type": "text", "text": "Be brief."}]}
    assert opening["params"]["systemPrompt"] == wanted


async def test_an_agent_without_a_place_for_them_is_an_error_and_leaves_nothing(
    client: AsyncSandboxAgent,
) -> None:
    for option in ({"system_prompt": "Be brief."}, {"allowed_tools": ["Read"]}):
        options: Any = option
        with pytest.raises(UnsupportedSessionOptionError) as caught:
            await client.sessions.create("amp", **options)
        assert caught.value.option in option and caught.value.agent == "amp"
    assert not [one for one in await client.acp.list() if one.status == "running"]
    assert not await client.sessions.list()


@pytest.mark.parametrize(
    "options",
    [{"env": ["A=1"]}, {"env": {"A": 1}}, {"allowed_tools": "Read"}, {"max_turns": 0}, {"max_cost": "1"}],
)
def test_a_wrong_form_is_named_before_anything_starts(client: AsyncSandboxAgent, options: Any) -> None:
    with pytest.raises(TypeError, match=next(iter(options))):
        client.sessions.create("mock", **options)


@pytest.fixture
async def looping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / "agent.py").write_text(LOOPING_AGENT)
    command = [sys.executable, tmp_path / "agent.py"]
    agents = {"free": command, "paid": [*command, "--cost"]}
    async with AsyncSandboxAgent.start(asgi(), agents=agents, default_directory=tmp_path) as made:
        yield made


async def test_a_turn_with_too_many_answers_is_cancelled(looping: AsyncSandboxAgent) -> None:
    session = await looping.sessions.create("free", max_turns=3)
    with pytest.raises(LimitExceededError) as caught:
        await session.prompt("go")
    assert (caught.value.limit, caught.value.allowed, caught.value.reached) == ("max_turns", 3, 4)
    assert "round 3" in caught.value.result.text
    assert len(caught.value.result.tool_calls) < 100
    # The limit counts anew with the next prompt.
    with pytest.raises(LimitExceededError) as caught:
        await session.prompt("go")
    assert caught.value.reached == 4


async def test_a_session_that_costs_too_much_is_cancelled_and_stays_so(looping: AsyncSandboxAgent) -> None:
    session = await looping.sessions.create("paid", max_cost=0.35)
    with pytest.raises(LimitExceededError) as caught:
        await session.prompt("go")
    assert caught.value.limit == "max_cost" and caught.value.reached == pytest.approx(0.4)
    sent = len(await session.raw_events())
    with pytest.raises(LimitExceededError):
        await session.prompt("go on")
    assert len(await session.raw_events()) == sent
    enough = await looping.sessions.create("paid", max_cost=100, max_turns=1000)
    turn = enough.start("go")
    await turn.cancel()
    assert (await turn.result()).stop_reason == "cancelled"


async def test_an_agent_that_reports_no_cost_cannot_be_limited_by_it(looping: AsyncSandboxAgent) -> None:
    session = await looping.sessions.create("free", max_cost=1)
    turn = session.start("go")
    async for _ in turn.text_deltas:
        await turn.cancel()
        break
    with pytest.raises(UnsupportedSessionOptionError, match="max_cost"):
        await turn.result()
