"""`before_tool`, `after_tool`, and permissions that are denied with a reason."""

from __future__ import annotations

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
    assert "You added: The tool call is rejected: not on Fridays" in result.text
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
    # An agent that cannot be steered is only refused.
    plain = await client.sessions.create("amp", on_permission=lambda request: Deny("ask me tomorrow"))
    assert '"optionId": "no"' in (await plain.prompt("ask")).text
    assert "_session/steering" not in str(await plain.raw_events())


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
