"""Sessions outlive processes: agent, server and client end in every combination."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import (
    AgentExitedError,
    AsyncSandboxAgent,
    SessionEndedError,
    SessionNotFoundError,
    SessionNotRestoredError,
    SqliteStore,
    auto_approve,
)
from sandbox_agent.sdk.session.history.replay_text import render_transcript
from sandbox_agent.sdk.transport.calls import pending_calls
from sandbox_agent.sdk.transport.calls.pending_calls import VANISHED_S
from sandbox_agent.sdk.universal import ItemCompleted, PermissionRequested, SessionStarted, UniversalMapper
from tests.sdk.conftest import Connect
from tests.sdk.cutting_proxy import CuttingProxy
from tests.sdk.live_server import LiveServer
from tests.support.polling import eventually


def types(events: list[Any]) -> list[str]:
    return [event.type for event in events]


async def vanish(client: AsyncSandboxAgent) -> None:
    """End the client as if its process was killed: nothing is sent to the server."""
    await client.aclose(keep_running=True)


@pytest.mark.clause("decision-16-client")
async def test_a_crashed_agent_is_resumed_by_the_next_prompt(connect: Connect) -> None:
    client = await connect()
    session = await client.sessions.create("mock", model="mock-fast", mode="plan")
    await session.prompt("echo before")
    with pytest.raises(AgentExitedError) as failure:
        await session.prompt("crash 7")
    assert failure.value.exit_code == 7
    server_id = session.info.server_id
    assert session.info.ended
    assert (await session.prompt("echo after")).text == "after"
    assert session.restored.method == "resumed" and session.restored.history_carried
    assert session.info.server_id == server_id, "the fresh process runs under the same id"
    assert (session.info.agent_mode, session.info.model) == ("plan", "mock-fast")
    events = await session.events(limit=1000)
    started = [e for e in events if isinstance(e, SessionStarted)]
    assert [bool(e.data.metadata.get("restored")) for e in started] == [False, True]
    ended = next(e for e in events if e.type == "session.ended")
    assert (ended.data.reason, ended.data.terminated_by, ended.data.exit_code) == ("error", "agent", 7)
    assert types(events).count("turn.started") == types(events).count("turn.ended")


@pytest.mark.clause("spec3-session-ids", "decision-31-client", "decision-39", "sdk-restore-order")
async def test_a_client_that_comes_back_reattaches_to_the_running_agent(
    connect: Connect, tmp_path: Path
) -> None:
    first = await connect(store=tmp_path / "s.db")
    session = await first.sessions.create("mock", id="mine", title="A talk", metadata={"k": 1})
    await session.prompt("echo one")
    native, count = session.native_session_id, session.info.event_count
    await vanish(first)
    second = await connect(store=tmp_path / "s.db")
    again = await second.sessions.resume("mine")
    assert again.restored.method == "reattached"
    assert again.native_session_id == native and again.title == "A talk" and again.metadata == {"k": 1}
    assert again.info.event_count == count, "nothing is replayed, nothing doubled"
    assert (await again.prompt("echo two")).text == "two"
    assert [e.sequence for e in await again.events(limit=1000)] == list(range(1, again.info.event_count + 1))
    assert len(await second.acp.list()) == 1


async def test_resuming_twice_at_once_gives_one_session(connect: Connect, tmp_path: Path) -> None:
    first = await connect(store=tmp_path / "s.db")
    await first.sessions.create("mock", id="mine")
    await vanish(first)
    second = await connect(store=tmp_path / "s.db")
    one, two = await asyncio.gather(second.sessions.resume("mine"), second.sessions.resume("mine"))
    assert one is two and (await one.prompt("echo once")).text == "once"


@pytest.mark.clause("sdk-restarts")
async def test_a_turn_goes_on_without_its_client_and_is_complete_afterwards(
    connect: Connect, tmp_path: Path
) -> None:
    first = await connect(store=tmp_path / "s.db")
    session = await first.sessions.create("mock", id="long")
    turn = session.stream("stream 40 20")
    await turn.__aenter__()
    async for _ in turn.text_deltas:
        break
    await vanish(first)
    second = await connect(store=tmp_path / "s.db")
    again = await second.sessions.resume("long")
    assert again.restored.method == "reattached"
    await eventually(lambda: not again.busy)
    events = await again.events(limit=1000)
    assert sum(event.type == "item.delta" for event in events) == 40
    assert events[-1].type == "turn.ended" and events[-1].data.metadata["stopReason"] == "end_turn"
    assert [e.sequence for e in events] == list(range(1, len(events) + 1))


@pytest.mark.clause("sdk-found-again")
async def test_an_open_permission_is_found_again_by_the_next_client(connect: Connect, tmp_path: Path) -> None:
    first = await connect(store=tmp_path / "s.db")
    session = await first.sessions.create("mock", id="asking")
    turn = session.stream("permission")
    await turn.__aenter__()
    async for event in turn:
        if isinstance(event, PermissionRequested):
            break
    open_id = session.info.pending_permissions
    await vanish(first)
    second = await connect(store=tmp_path / "s.db")
    again = await second.sessions.resume("asking", on_permission=auto_approve)
    await eventually(lambda: not again.busy)
    resolved = [e for e in await again.events(limit=1000) if e.type == "permission.resolved"]
    assert [e.data.permission_id for e in resolved] == open_id and resolved[0].data.status == "accept"


@pytest.mark.clause("sdk-found-again")
async def test_an_open_question_is_found_again_and_answered_by_hand(connect: Connect, tmp_path: Path) -> None:
    first = await connect(store=tmp_path / "s.db")
    session = await first.sessions.create("mock", id="q", on_question=lambda _: None)
    asyncio.get_running_loop().create_task(_quietly(session.prompt("question")))
    await eventually(lambda: bool(session.pending_questions))
    await vanish(first)
    second = await connect(store=tmp_path / "s.db")
    again = await second.sessions.resume("q", on_question=lambda _: None)
    assert [one.prompt for one in again.pending_questions] == ["Which option?"]
    await again.reply_question(again.pending_questions[0].id, "option-b")
    await eventually(lambda: not again.busy)
    answer = next(e for e in await again.events(limit=1000) if e.type == "question.resolved")
    assert answer.data.response == "option-b"


async def _quietly(work: Any) -> None:
    try:
        await work
    except Exception:
        return


@pytest.mark.clause("promise-P-rolling-restart", "sdk-restarts")
async def test_a_restarted_server_is_survived_by_the_client(own_server: LiveServer, connect: Connect) -> None:
    client = await connect()
    session = await client.sessions.create("mock", thought_level="high")
    await session.prompt("echo before")
    await own_server.restart()
    assert (await session.prompt("echo after")).text == "after"
    assert session.restored.method in ("resumed", "loaded")
    assert session.info.thought_level == "high"


@pytest.mark.clause("events-restart")
async def test_the_prompt_that_meets_a_restarted_server_is_in_the_history_once(
    own_server: LiveServer, connect: Connect
) -> None:
    client = await connect()
    session = await client.sessions.create("mock")
    for number in range(3):
        await session.prompt(f"echo before {number}")
        await own_server.restart()
        assert (await session.prompt(f"echo after {number}")).text == f"after {number}"
    # A retry of the first attempt would be recorded while its task still runs.
    await eventually(lambda: not any("session/prompt" in task.get_name() for task in asyncio.all_tasks()))
    events = await session.events(limit=1000)
    said = [e.data.item for e in events if e.type == "item.completed" and e.data.item.kind == "message"]
    words = [f"{moment} {number}" for number in range(3) for moment in ("before", "after")]
    assert [(item.role, item.text) for item in said] == [
        entry for word in words for entry in (("user", f"echo {word}"), ("assistant", word))
    ]
    assert types(events).count("turn.started") == types(events).count("turn.ended") == len(words)
    assert "error" not in types(events)


@pytest.mark.clause("events-restart")
@pytest.mark.parametrize("limit_s", [VANISHED_S, 0.2])
async def test_a_late_refusal_by_a_restarted_server_makes_no_turn(
    own_server: LiveServer, connect: Connect, monkeypatch: pytest.MonkeyPatch, limit_s: float
) -> None:
    monkeypatch.setattr(pending_calls, "VANISHED_S", limit_s)
    async with CuttingProxy("127.0.0.1", own_server.port) as proxy:
        session = await (await connect(proxy.url)).sessions.create("mock")
        await session.prompt("echo before")
        # The stream says at once that the instance is gone; the POST of the prompt is refused later.
        # A busy machine takes time to open the stream again; the limit of 0.2 s ends before the POST does.
        late_s = 1.5 if limit_s == VANISHED_S else 5.0
        proxy.late = lambda head: late_s if head.startswith(b"POST") else 0.0
        await own_server.restart()
        if limit_s == VANISHED_S:
            assert (await session.prompt("echo after")).text == "after"
        else:
            with pytest.raises(AgentExitedError):
                await session.prompt("echo after")
        kinds = types(await session.events())
        assert kinds.count("turn.started") == kinds.count("turn.ended") == 2
        assert kinds.count("error") == (limit_s != VANISHED_S)
        await session.aclose()


@pytest.mark.clause("events-repeated-history")
@pytest.mark.parametrize(("agent", "method"), [("hermes", "resumed"), ("gemini", "loaded")])
async def test_history_that_an_agent_repeats_after_it_was_restored_is_not_stored_again(
    own_server: LiveServer, connect: Connect, agent: str, method: str
) -> None:
    session = await (await connect()).sessions.create(agent)
    await session.prompt("before")
    await own_server.restart()
    assert (await session.prompt("after")).text == "after"
    assert session.restored.method == method
    texts = [e.data.item.text for e in await session.events(limit=1000) if e.type == "item.completed"]
    assert texts == ["before", "before", "after", "after"]


@pytest.mark.clause("sdk-restarts", "sdk-restore-order")
async def test_client_and_server_restarted_the_conversation_goes_on(
    own_server: LiveServer, connect: Connect, tmp_path: Path
) -> None:
    first = await connect(store=tmp_path / "s.db")
    session = await first.sessions.create("mock", id="both", model="mock-fast")
    await session.prompt("echo before")
    await vanish(first)
    await own_server.restart()
    second = await connect(store=tmp_path / "s.db")
    again = await second.sessions.resume("both")
    assert again.restored.method == "resumed" and "no longer runs" in again.restored.tried["reattach"]
    assert again.info.model == "mock-fast"
    assert (await again.prompt("echo after")).text == "after"
    events = await again.events(limit=1000)
    assert [e.sequence for e in events] == list(range(1, len(events) + 1))


@pytest.mark.clause("sdk-restore-order")
async def test_load_is_the_next_best_and_its_history_is_not_stored_twice(
    own_server: LiveServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sandbox_agent.sdk.session.instances.agent_instance import AgentInstance

    real = AgentInstance.offers
    monkeypatch.setattr(
        AgentInstance, "offers", lambda self, *path: "resume" not in path and real(self, *path)
    )
    client = await connect()
    session = await client.sessions.create("mock")
    await session.prompt("echo before")
    with pytest.raises(AgentExitedError):
        await session.prompt("crash")
    assert (await session.prompt("echo after")).text == "after"
    assert session.restored.method == "loaded"
    texts = [e.data.delta for e in await session.events(limit=1000) if e.type == "item.delta"]
    assert texts == ["before", "I shall crash now.", "after"]


@pytest.mark.clause("sdk-restore-order")
async def test_an_agent_that_can_restore_nothing_gets_the_transcript(
    own_server: LiveServer, connect: Connect, tmp_path: Path
) -> None:
    first = await connect(store=tmp_path / "s.db")
    session = await first.sessions.create("amp", id="plain", mode="wild")
    await session.prompt("my name is Ada")
    await vanish(first)
    await own_server.restart()
    second = await connect(store=tmp_path / "s.db")
    again = await second.sessions.resume("plain")
    assert again.restored.method == "replayed" and not again.restored.history_carried
    assert set(again.restored.tried) == {"reattach", "session/resume", "session/load"}
    assert again.info.agent_mode == "wild"
    told = (await again.prompt("and now?")).text
    assert told.startswith("Previous session history is replayed below")
    assert "user: my name is Ada" in told and told.endswith("and now?")
    assert (await again.prompt("once more")).text == "once more", "the past is told once"
    users = [
        e.data.item.text
        for e in await again.events(limit=1000)
        if e.type == "item.completed" and e.data.item.role == "user"
    ]
    assert users == ["my name is Ada", "and now?", "once more"], "the transcript is no message of the user"


@pytest.mark.clause("sdk-restore-order")
async def test_the_policy_decides_which_ways_are_allowed(
    own_server: LiveServer, connect: Connect, tmp_path: Path
) -> None:
    first = await connect(store=tmp_path / "s.db")
    await (await first.sessions.create("amp", id="plain")).prompt("hello")
    await vanish(first)
    await own_server.restart()
    second = await connect(store=tmp_path / "s.db")
    for policy, reasons in (
        ("reattach", {"reattach"}),
        ("native", {"session/resume", "session/load"}),
        ("never", set()),
    ):
        with pytest.raises(SessionNotRestoredError) as failure:
            await second.sessions.resume("plain", restore=policy)
        assert set(failure.value.tried) == reasons
    assert (await second.sessions.resume("plain", restore="replay")).restored.method == "replayed"


@pytest.mark.clause("decision-39")
async def test_another_instance_under_the_stored_id_is_not_used(
    own_server: LiveServer, connect: Connect, tmp_path: Path
) -> None:
    first = await connect(store=tmp_path / "s.db")
    await first.sessions.create("mock", id="mine")
    await vanish(first)
    async with SqliteStore(tmp_path / "s.db") as store:
        await store.patch_session("mine", server_created_at=1)
    second = await connect(store=tmp_path / "s.db")
    assert (await second.sessions.resume("mine")).restored.method == "resumed"


@pytest.mark.clause("sdk-restarts")
async def test_two_sessions_of_one_process_both_reattach(connect: Connect, tmp_path: Path) -> None:
    first = await connect(store=tmp_path / "s.db")
    one = await first.sessions.create("mock", id="one")
    two = await first.sessions.create("mock", id="two")
    assert one.info.server_id == two.info.server_id
    turns = [one.stream("stream 20 20"), two.stream("stream 20 20")]
    for turn in turns:
        await turn.__aenter__()
        async for _ in turn.text_deltas:
            break
    await vanish(first)
    second = await connect(store=tmp_path / "s.db")
    again = [await second.sessions.resume(name) for name in ("one", "two")]
    for session in again:
        assert session.restored.method == "reattached"
        await eventually(lambda session=session: not session.busy)
        events = await session.events(limit=1000)
        assert sum(event.type == "item.delta" for event in events) == 20
        assert [e.sequence for e in events] == list(range(1, len(events) + 1))


@pytest.mark.clause("spec2-3-session-terminate")
async def test_a_terminated_session_needs_resume_to_live_again(connect: Connect) -> None:
    client = await connect()
    session = await client.sessions.create("mock", id="ended")
    await session.terminate()
    await session.terminate()
    with pytest.raises(SessionEndedError, match="resume"):
        await session.prompt("echo x")
    again = await client.sessions.resume("ended")
    assert (await again.prompt("echo back")).text == "back"
    assert (await client.sessions.get("ended")).destroyed_at is None
    with pytest.raises(SessionNotFoundError):
        await client.sessions.resume("never was")


@pytest.mark.clause("spec2-3-session-terminate")
async def test_a_leftover_session_can_be_terminated_without_resuming_it(
    connect: Connect, tmp_path: Path
) -> None:
    first = await connect(store=tmp_path / "s.db")
    await first.sessions.create("mock", id="left")
    await vanish(first)
    second = await connect(store=tmp_path / "s.db")
    assert len(await second.acp.list()) == 1
    await second.sessions.terminate("left")
    await second.sessions.terminate("left")
    assert await second.acp.list() == []
    assert types(await second.sessions.events("left"))[-1] == "session.ended"


@pytest.mark.clause("sdk-restore-order")
def test_a_transcript_keeps_the_newest_and_says_what_is_missing() -> None:
    mapper = UniversalMapper("s")
    events = mapper.feed({"id": 0, "method": "session/new", "params": {}}, "client", time=0)
    for number in range(1, 21):
        prompt = {
            "id": number,
            "method": "session/prompt",
            "params": {"prompt": [{"type": "text", "text": f"m{number}"}]},
        }
        events += mapper.feed(prompt, "client", time=0)
        events += mapper.feed({"id": number, "result": {"stopReason": "end_turn"}}, "agent", time=0)
    items = [event.item for event in events if isinstance(event, ItemCompleted)]
    few = render_transcript(items, max_events=3, max_chars=10_000)
    assert few is not None and few.splitlines()[1:] == [
        "[older history left out]",
        "user: m18",
        "user: m19",
        "user: m20",
    ]
    tight = render_transcript(items, max_events=50, max_chars=160)
    assert (
        tight is not None and len(tight) <= 160 and tight.endswith("user: m20") and "user: m1\n" not in tight
    )
    everything = render_transcript(items, max_events=50, max_chars=10_000)
    assert everything is not None and "left out" not in everything
    end = render_transcript(items, max_events=50, max_chars=10_000, whole=False)
    assert end is not None and "left out" in end
    assert render_transcript([], max_events=5, max_chars=100) is None
