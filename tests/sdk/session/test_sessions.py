"""Sessions: the fields of their creation, their configuration, refused values, and their end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import (
    AsyncSandboxAgent,
    AuthRequiredError,
    MethodNotFoundError,
    SessionAlreadyExistsError,
    SessionNotFoundError,
    UnsupportedSessionCategoryError,
    UnsupportedSessionConfigOptionError,
    UnsupportedSessionValueError,
    auto_approve,
)
from sandbox_agent.sdk.session.config.config_options import option_by_category, parse_options
from sandbox_agent.sdk.universal import meta
from tests.support.polling import eventually


async def new_params(session: Any) -> dict[str, Any]:
    messages = await session.raw_events(limit=1000)
    return next(m for m in messages if m.get("method") == "session/new")["params"]  # type: ignore[no-any-return]


@pytest.mark.clause(
    "spec2-3-session-create",
    "spec2-3.1-agent",
    "spec2-3.1-fields",
    "spec2-3.1-mcp",
    "spec3-session-ids",
    "spec3-session-state",
    "decision-37-client",
    "decision-40-client",
)
async def test_every_field_goes_where_the_mapping_says(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    work = tmp_path / "elsewhere"
    (work / "x").mkdir(parents=True)
    (work / "x/SKILL.md").write_text("---\nname: x\ndescription: x\n---\n")
    session = await client.sessions.create(
        "mock",
        id="my-session",
        directory=str(work),
        agent_version="1.2.3",
        mcp={"files": {"type": "local", "command": ["run", "it"], "args": ["-v"], "env": {"A": "1"}}},
        mode="plan",
        model="mock-fast",
        thought_level="medium",
        permission_mode="careful",
        skills={"sources": [{"type": "local", "source": "x"}]},
        title="A title",
        metadata={"label": 7},
    )
    params = await new_params(session)
    assert params["cwd"] == str(work)
    assert params["mcpServers"] == [
        {"name": "files", "command": "run", "args": ["it", "-v"], "env": [{"name": "A", "value": "1"}]}
    ]
    own = params["_meta"]["sandboxagent.dev"]
    assert own.pop("connectionId") == session.info.server_id
    assert own == {
        "agent": "mock",
        "requestedSessionId": "my-session",
        "agentVersionRequested": "1.2.3",
        "title": "A title",
        "skills": {"sources": [{"type": "local", "source": "x"}]},
        "permissionMode": "careful",
        "agentMode": "plan",
        "model": "mock-fast",
    }
    info = session.info
    assert (info.session_id, info.agent, info.title, info.metadata) == (
        "my-session",
        "mock",
        "A title",
        {"label": 7},
    )
    assert (info.agent_mode, info.model, info.thought_level) == ("plan", "mock-fast", "medium")
    assert list(info.restored.not_applied) == ["permission_mode"], "the mock has no such mode"
    assert (info.permission_mode, info.directory, info.ended, info.busy) == (
        None,
        str(work),
        False,
        False,
    )
    assert info.pending_permissions == info.pending_questions == []
    assert info.native_session_id not in (None, "my-session") and info.event_count > 0
    real = json.loads((await session.prompt("info")).text)
    assert real["mcpServers"] == params["mcpServers"]


@pytest.mark.clause("spec2-3-session-create")
async def test_an_id_that_was_not_asked_for_is_not_sent(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    assert "requestedSessionId" not in (await new_params(session))["_meta"]["sandboxagent.dev"]


@pytest.mark.clause("spec2-3-session-create")
async def test_an_id_can_be_used_once(client: AsyncSandboxAgent) -> None:
    await client.sessions.create("mock", id="twin")
    with pytest.raises(SessionAlreadyExistsError, match="resume"):
        await client.sessions.create("mock", id="twin")
    assert (await client.sessions.resume_or_create("twin", "mock")).id == "twin"
    assert (await client.sessions.resume_or_create("fresh", "mock")).id == "fresh"


@pytest.mark.clause("decision-26-client")
async def test_a_directory_config_becomes_mcp_servers(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    work = str(tmp_path / "work")
    await client.config.mcp.set(
        work, "remote", {"type": "remote", "url": "https://x.invalid/mcp", "transport": "sse"}
    )
    await client.config.mcp.set(work, "off", {"type": "local", "command": "no", "enabled": False})
    session = await client.sessions.create("mock", directory=work, use_directory_config=True)
    assert (await new_params(session))["mcpServers"] == [
        {"type": "sse", "name": "remote", "url": "https://x.invalid/mcp", "headers": []}
    ]
    without = await client.sessions.create("mock", directory=work)
    assert (await new_params(without))["mcpServers"] == []


@pytest.mark.clause("spec2-3.1-mode-model", "sdk-errors-list-what-is-allowed")
async def test_choices_can_be_changed_and_errors_list_what_is_allowed(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    assert session.modes == ["normal", "plan"]
    await session.set_mode("plan")
    await session.set_model("mock-fast")
    await session.set_thought_level("high")
    await session.set_config_option("model", "mock")
    assert (session.info.agent_mode, session.info.model, session.info.thought_level) == (
        "plan",
        "mock",
        "high",
    )
    with pytest.raises(UnsupportedSessionValueError, match="normal, plan") as wrong:
        await session.set_mode("chaos")
    assert wrong.value.allowed == ["normal", "plan"]
    with pytest.raises(UnsupportedSessionValueError, match="mock-fast"):
        await session.set_model("gpt")
    with pytest.raises(UnsupportedSessionConfigOptionError, match="model"):
        await session.set_config_option("colour", "red")
    stored = await client.sessions.get(session.id)
    assert {o.id: o.current_value for o in parse_options(stored.config_options)}["model"] == "mock"


@pytest.mark.clause("spec2-3.1-mode-model")
async def test_an_agent_with_modes_only_is_switched_with_set_mode(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("amp", mode="wild", model="not offered: a hint only")
    assert session.info.agent_mode == "wild"
    methods = [m.get("method") for m in await session.raw_events()]
    assert "session/set_mode" in methods and "session/set_config_option" not in methods
    with pytest.raises(UnsupportedSessionCategoryError):
        await session.set_thought_level("high")


@pytest.mark.clause("sdk-errors-list-what-is-allowed")
async def test_a_wrong_wish_at_creation_leaves_nothing_behind(client: AsyncSandboxAgent) -> None:
    with pytest.raises(UnsupportedSessionValueError):
        await client.sessions.create("mock", model="unheard of")
    assert await client.acp.list() == []


def test_options_are_found_flat_or_grouped() -> None:
    options = parse_options(
        [
            {
                "id": "m",
                "category": "model",
                "options": [{"group": "g", "options": [{"value": "a"}, {"value": "b"}]}],
            },
            {"id": "mode", "options": [{"value": "x"}]},
            {"id": "fast", "type": "boolean", "currentValue": True},
        ]
    )
    assert [option.values for option in options] == [("a", "b"), ("x",), ()]
    assert option_by_category(options, "mode") is options[1] and option_by_category(options, "none") is None


async def test_an_agent_that_wants_its_key_confirmed_gets_that(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("pi")
    assert (await session.prompt("in")).text == "in"


async def test_an_authentication_error_of_a_prompt_is_typed(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    with pytest.raises(AuthRequiredError, match="Authentication required"):
        await session.prompt("fail -32000")


@pytest.mark.clause("spec1-6-sessions-in-the-client", "spec2-3-session-list")
async def test_sessions_are_listed_archived_and_forgotten(client: AsyncSandboxAgent) -> None:
    for name in ("a", "b", "c"):
        await client.sessions.create("mock", id=name)
    await client.sessions.archive("b")
    assert {record.id for record in await client.sessions.list()} == {"a", "b", "c"}
    assert {record.id for record in await client.sessions.list(archived=False)} == {"a", "c"}
    await client.sessions.forget("c")
    with pytest.raises(SessionNotFoundError):
        await client.sessions.get("c")


@pytest.mark.clause("spec2-3-event-polling", "spec3-event-streaming", "decision-33")
async def test_events_are_polled_by_offset_and_limit(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    await session.prompt("echo hi")
    everything = await session.events(limit=1000)
    assert (await session.events(2, 3)) == everything[2:5] == await client.sessions.events(session.id, 2, 3)
    assert len(await session.raw_events(1, 2)) == 2
    assert [e.sequence for e in everything] == list(range(1, session.info.event_count + 1))


@pytest.mark.clause("spec2-3-session-terminate", "decision-33")
async def test_the_last_session_out_ends_the_process(client: AsyncSandboxAgent) -> None:
    one, two = await client.sessions.create("mock"), await client.sessions.create("mock")
    alone = await client.sessions.create("mock", isolated=True)
    assert alone.info.server_id != one.info.server_id
    await one.terminate()
    assert len(await client.acp.list()) == 2
    assert (await two.prompt("echo here")).text == "here"
    await client.sessions.terminate(two.id)
    await alone.terminate()
    assert await client.acp.list() == []
    events = await client.sessions.events(one.id, limit=1000)
    assert events[-1].type == "session.ended"
    assert (events[-1].data.reason, events[-1].data.terminated_by) == ("terminated", "daemon")
    closes = [m for m in await client.sessions.raw_events(one.id) if m.get("method") == "session/close"]
    assert len(closes) == 1


async def test_a_session_ended_by_the_agent_says_so(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    await session.prompt("end")
    ended = [e for e in await session.events(limit=1000) if e.type == "session.ended"]
    assert len(ended) == 1 and ended[0].data.terminated_by == "agent"


@pytest.mark.clause("spec1-6-sessions-in-the-client", "decision-31-client")
async def test_title_and_metadata_belong_to_the_client(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    await session.update(title="New", metadata={"a": 1})
    record = await client.sessions.get(session.id)
    assert record.title == "New" and record.metadata == {"a": 1}


async def test_the_rest_of_acp_is_within_reach(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    listed = await session.request("session/list", {})
    assert session.native_session_id in json.dumps(listed)
    with pytest.raises(MethodNotFoundError):
        await session.request("session/does_not_exist")
    await session.notify("_my/notice", {"x": 1})


@pytest.mark.clause("spec3-session-state")
async def test_callbacks_on_events_may_be_sync_or_async_and_can_be_stopped(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    seen: list[str] = []

    async def later(event: Any) -> None:
        seen.append("async " + event.type)

    stop = session.on_event(lambda event: seen.append(event.type), type="turn.started")
    session.on_event(later, type="turn.ended")
    assert session.info.subscribers == 2
    await session.prompt("echo x")
    await eventually(lambda: len(seen) == 2)
    stop()
    await session.prompt("echo y")
    await eventually(lambda: len(seen) == 3)
    assert sorted(seen) == ["async turn.ended", "async turn.ended", "turn.started"]


@pytest.mark.clause("events-models")
async def test_models_that_an_agent_lists_outside_its_options_can_be_chosen(
    client: AsyncSandboxAgent,
) -> None:
    session = await client.sessions.create("gemini", model="large")
    assert session.info.model == "large"
    await session.set_model("small")
    assert session.info.model == "small"
    with pytest.raises(UnsupportedSessionValueError, match="small, large"):
        await session.set_model("huge")
    sent = [one for one in await session.raw_events() if one.get("method") == "session/set_model"]
    assert [one["params"]["modelId"] for one in sent] == ["large", "small"]
    with pytest.raises(UnsupportedSessionValueError):
        await client.sessions.create("gemini", model="huge")


@pytest.mark.clause("events-connection-id")
async def test_requests_name_their_connection_and_the_events_tell_it(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    await session.prompt("echo hi")
    started = next(event for event in await session.events() if event.type == "session.started")
    assert started.data.metadata["connectionId"] == session.info.server_id
    named = {
        one["method"]: meta.connection_id_of(one) for one in await session.raw_events() if "method" in one
    }
    assert named["session/new"] == named["session/prompt"] == session.info.server_id
    assert meta.connection_id_of(session.info) is None


@pytest.mark.clause("events-legacy-produced", "spec2-5-legacy-event")
async def test_events_that_an_agent_carries_over_keep_their_envelope(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock", on_permission=auto_approve)
    result = await session.prompt("legacy")
    carried = {
        carried["eventId"]: carried["sequence"]
        for one in await session.raw_events()
        for holder in (one.get("params") or {}, (one.get("params") or {}).get("update"))
        if (carried := meta.product_meta(holder).get("legacyEvent"))
    }
    told = {event.event_id: event.sequence for event in result.events if event.event_id in carried}
    assert told == carried and len(carried) == 3
    message = next(e.data.item for e in result.events if e.event_id == [*carried][-1])
    assert message.item_id.startswith("legacy-") and message.text == "carried over"
    events = (await session.prompt("permission")).events
    (asked,) = [event for event in events if event.type == "permission.requested"]
    assert asked.event_id.startswith("evt_") and not asked.event_id.startswith(f"evt_{session.id}")
