"""`before_tool`, `after_tool`, and permissions that are denied with a reason."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import (
    Allow,
    AsyncSandboxAgent,
    CallbackError,
    Deny,
    PermissionRequest,
    SandboxAgent,
    ToolUse,
    UnsupportedPermissionReplyError,
    asgi,
    auto_approve,
)
from sandbox_agent.sdk.session.permissions import tool_hooks

pytestmark = pytest.mark.clause("sdk-tool-hooks")


class Hooks:
    """Notes what was called, in order; denies tools of some kinds."""

    def __init__(self, *denied: str) -> None:
        self.calls: list[tuple[str, str]] = []
        self.uses: list[ToolUse] = []
        self._denied = denied

    async def before(self, use: ToolUse) -> Deny | None:
        self.calls.append(("before", use.name))
        self.uses.append(use)
        return Deny("not on Fridays") if use.kind in self._denied else None

    def after(self, use: ToolUse) -> None:
        self.calls.append(("after", use.name))
        self.uses.append(use)


async def test_hooks_are_called_once_around_each_tool(client: AsyncSandboxAgent) -> None:
    hooks = Hooks()
    session = await client.sessions.create(
        "mock", before_tool=hooks.before, after_tool=hooks.after, on_permission=auto_approve
    )
    await session.prompt("permission")
    assert hooks.calls == [("before", "write_file"), ("after", "write_file")]
    asked, ended = hooks.uses
    assert asked.raw_input["text"] and asked.kind == "edit" and asked.status == "in_progress"
    assert ended.status == "completed" and ended.changes and ended.call_id == asked.call_id
    await session.prompt("diff")  # two tools that run without asking
    assert [when for when, _ in hooks.calls[2:]] == ["before", "after", "before", "after"]


async def test_a_denied_tool_does_not_run_and_the_agent_hears_why(client: AsyncSandboxAgent) -> None:
    hooks, asked = Hooks("edit"), []

    def permission(request: Any) -> str:
        asked.append(request)
        return "once"

    session = await client.sessions.create("mock", before_tool=hooks.before, on_permission=permission)
    result = await session.prompt("permission")
    assert not asked
    assert result.tool_calls[0].status == "failed"
    assert "You added: The tool call is rejected: not on Fridays\n" in result.text
    answers = [one for one in await session.raw_events() if "outcome" in (one.get("result") or {})]
    answer = next(one for one in answers if isinstance(one["result"]["outcome"], dict))
    assert answer["result"]["_meta"]["sandboxagent.dev"]["permission"]["reason"] == "not on Fridays"


async def test_a_denied_tool_that_runs_without_asking_ends_the_turn(client: AsyncSandboxAgent) -> None:
    hooks = Hooks("read")
    session = await client.sessions.create("mock", before_tool=hooks.before)
    with pytest.raises(CallbackError, match="without asking") as caught:
        await session.prompt("tool")
    assert caught.value.result is not None


async def test_a_callback_denies_with_a_reason_too(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock", on_permission=lambda request: Deny("ask me tomorrow"))
    result = await session.prompt("permission")
    assert "ask me tomorrow" in result.text and result.tool_calls[0].status == "failed"
    # An agent that cannot be steered is only refused. This one asks for a call that it has not announced.
    hooks = Hooks()
    plain = await client.sessions.create(
        "amp", before_tool=hooks.before, on_permission=lambda request: Deny("ask me tomorrow")
    )
    assert '"optionId": "no"' in (await plain.prompt("ask")).text
    assert "_session/steering" not in str(await plain.raw_events())
    (use,) = hooks.uses
    assert (use.name, use.kind, use.title, use.raw_input) == ("execute", "execute", "Do it", {})


async def test_a_tool_runs_with_the_input_that_a_callback_gives(client: AsyncSandboxAgent) -> None:
    def decide(request: PermissionRequest) -> Allow:
        return Allow({**request.raw_input, "text": "Less.\n"})

    session = await client.sessions.create("mock", on_permission=decide)
    (call,) = (await session.prompt("permission")).tool_calls
    assert call.status == "completed" and call.raw_input["text"] == "Less.\n"
    assert "Less." in str(call.changes) and "Hello" not in str(call.changes)
    async with session.stream("permission") as turn:
        async for event in turn:
            if event.type == "permission.requested":
                await session.cancel_permission(event.data.permission_id)
    session = await client.sessions.create("mock", on_permission=lambda request: Allow(reply="always"))
    assert "allow-always" in (await session.prompt("permission")).text


async def test_an_agent_that_takes_no_changed_input_does_not_run_the_tool(client: AsyncSandboxAgent) -> None:
    plain = await client.sessions.create("amp", on_permission=lambda request: Allow({"command": "ls"}))
    with pytest.raises(UnsupportedPermissionReplyError, match="another input than its own") as caught:
        await plain.prompt("ask")
    assert caught.value.available and not plain.pending_permissions
    answers = [one for one in await plain.raw_events() if "outcome" in str(one.get("result"))]
    assert "cancelled" in str(answers) and "selected" not in str(answers)


async def test_a_hook_that_fails_is_an_error_of_the_turn(client: AsyncSandboxAgent) -> None:
    def broken(use: ToolUse) -> None:
        raise RuntimeError("no")

    session = await client.sessions.create("mock", after_tool=broken)
    with pytest.raises(CallbackError, match="no"):
        await session.prompt("tool")
    wrong: Any = lambda use: "maybe"  # noqa: E731 - short
    session = await client.sessions.create("mock", before_tool=wrong)
    with pytest.raises(CallbackError, match="maybe"):
        await session.prompt("tool")


def test_the_synchronous_face_has_hooks_too(tmp_path: Path) -> None:
    names: list[str] = []
    with SandboxAgent.start(asgi(), default_directory=tmp_path) as client:
        session = client.sessions.create("mock", after_tool=lambda use: names.append(use.name))
        session.prompt("tool")
    assert names == ["read_file"]


# Announces a call without its input, tells the input when it runs, and asks for permission when the file
# beside it exists, so later than most agents.
LATE_AGENT = """
import json, pathlib, sys, time

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def update(kind, /, **fields):
    send(method="session/update", params={"sessionId": "s", "update": {"sessionUpdate": kind, **fields}})

for line in sys.stdin:
    message = json.loads(line)
    method, result = message.get("method"), {}
    if method == "initialize":
        result = {"protocolVersion": 1}
    elif method == "session/new":
        result = {"sessionId": "s"}
    elif method == "session/prompt":
        prompt, name = message["id"], message["params"]["prompt"][0]["text"]
        update("tool_call", toolCallId=name, title="bash", kind="execute", status="pending", rawInput={})
        raw = {"command": "make"}
        update("tool_call_update", toolCallId=name, status="in_progress", rawInput=raw)
        limit = time.monotonic() + 20
        while not pathlib.Path(name).exists() and time.monotonic() < limit:
            time.sleep(0.01)
        call = {"toolCallId": name, "title": "bash"}
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
        send(id="p", method="session/request_permission",
             params={"sessionId": "s", "toolCall": call, "options": options})
        continue
    elif message.get("id") == "p":
        chosen = message["result"]["outcome"].get("optionId", "cancelled")
        status = "completed" if chosen == "allow_once" else "failed"
        update("tool_call_update", toolCallId=name, status=status)
        update("agent_message_chunk", content={"type": "text", "text": chosen})
        message, result = {"id": prompt}, {"stopReason": "end_turn"}
    if "id" in message:
        send(id=message["id"], result=result)
"""


@pytest.fixture
async def late_client(tmp_path: Path) -> AsyncIterator[AsyncSandboxAgent]:
    program = tmp_path / "late.py"
    program.write_text(LATE_AGENT)
    agents = {"late": [sys.executable, program]}
    async with AsyncSandboxAgent.start(asgi(), agents=agents, default_directory=tmp_path) as made:
        yield made


async def test_a_hook_gets_the_input_that_an_update_brings(
    late_client: AsyncSandboxAgent, tmp_path: Path
) -> None:
    (tmp_path / "first").touch()
    hooks = Hooks()
    session = await late_client.sessions.create(
        "late", before_tool=hooks.before, after_tool=hooks.after, on_permission=auto_approve
    )
    assert (await session.prompt("first")).text == "allow_once"
    assert [use.raw_input for use in hooks.uses] == [{"command": "make"}] * 2


@pytest.mark.parametrize("way", ["denies", "fails"])
async def test_a_decision_that_came_before_the_request_holds(
    way: str, late_client: AsyncSandboxAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_hooks, "REQUEST_GRACE_S", 0.01)

    def before(use: ToolUse) -> Deny:
        (tmp_path / "second").touch()
        if way == "fails":
            raise RuntimeError("no decision")
        return Deny("not this")

    session = await late_client.sessions.create("late", before_tool=before, on_permission=auto_approve)
    if way == "fails":
        with pytest.raises(CallbackError) as caught:
            await session.prompt("second")
        result = caught.value.result
    else:
        # The agent has asked after all, so nothing ran and the turn goes on.
        result = await session.prompt("second")
    assert result is not None and result.tool_calls[0].status == "failed"
    assert "allow_once" not in result.text
