"""Sessions of the mock agent: loading, resuming, listing, closing, forking, transcripts on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.mock.mock_process import Json, Start


@pytest.mark.clause("mock-handshake-and-sessions")
def test_a_loaded_session_replays_its_history_after_a_restart(start: Start) -> None:
    before = start()
    session = before.new_session("/project")
    before.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
    before.prompt(session, "tool")
    before.prompt(session, "think")
    kinds = ("agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update")
    told = [update for update in before.updates() if update["sessionUpdate"] in kinds]
    before.process.kill()
    before.wait()

    after = start()
    params: Json = {"sessionId": session, "cwd": "/project", "mcpServers": []}
    result = after.call("session/load", params)
    assert result["modes"]["currentModeId"] == "plan"
    replayed = after.updates()
    assert [update["content"]["text"] for update in after.updates("user_message_chunk")] == ["tool", "think"]
    assert [update for update in replayed if update["sessionUpdate"] != "user_message_chunk"] == told
    assert after.prompt(session, "echo on we go")["stopReason"] == "end_turn"
    count = len(after.updates())
    after.call("session/load", params)
    assert len(after.updates()) == count + len(replayed) + 2


def test_a_killed_agent_has_saved_the_output_before_its_last_wait(start: Start) -> None:
    before = start()
    session = before.new_session()
    before.start_prompt(session, "permission")
    before.until(method="session/request_permission")
    before.call("authenticate", {"methodId": "any"})
    before.process.kill()
    before.wait()
    after = start()
    after.call("session/load", {"sessionId": session, "cwd": "/project", "mcpServers": []})
    assert [update["sessionUpdate"] for update in after.updates()] == ["user_message_chunk", "tool_call"]


@pytest.mark.clause("mock-handshake-and-sessions")
def test_a_resumed_session_does_not_replay_its_history(start: Start) -> None:
    before = start()
    session = before.new_session()
    before.prompt(session, "echo hello")
    assert before.end_input() == 0
    after = start()
    after.call("session/resume", {"sessionId": session, "cwd": "/project", "mcpServers": []})
    assert after.updates() == []
    assert after.prompt(session, "echo again")["stopReason"] == "end_turn"


@pytest.mark.clause("mock-handshake-and-sessions")
def test_sessions_are_listed_with_titles_also_those_of_earlier_processes(start: Start) -> None:
    before = start()
    session = before.new_session("/one")
    before.prompt(session, "echo my first prompt")
    assert before.end_input() == 0
    agent = start()
    other = agent.new_session("/two")
    listed = {info["sessionId"]: info for info in agent.call("session/list", {})["sessions"]}
    assert set(listed) == {session, other}
    assert (listed[session]["cwd"], listed[session]["title"]) == ("/one", "echo my first prompt")
    assert listed[other]["title"] is None
    only = agent.call("session/list", {"cwd": "/two"})["sessions"]
    assert [info["sessionId"] for info in only] == [other]


def test_a_long_list_of_sessions_has_pages(start: Start) -> None:
    agent = start()
    created = {agent.new_session() for _ in range(101)}
    first = agent.call("session/list", {})
    second = agent.call("session/list", {"cursor": first["nextCursor"]})
    assert (len(first["sessions"]), len(second["sessions"])) == (100, 1)
    assert "nextCursor" not in second
    assert {info["sessionId"] for page in (first, second) for info in page["sessions"]} == created


@pytest.mark.clause("mock-handshake-and-sessions")
def test_a_closed_session_takes_no_prompt_but_can_be_loaded(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    hanging = agent.start_prompt(session, "hang")
    closing = agent.start("session/close", {"sessionId": session})
    assert agent.answer(hanging)["result"]["stopReason"] == "cancelled"
    agent.answer(closing)
    assert agent.failure("session/prompt", {"sessionId": session, "prompt": []}) == -32002
    agent.call("session/load", {"sessionId": session, "cwd": "/project", "mcpServers": []})


def test_a_deleted_session_is_gone(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    agent.call("session/delete", {"sessionId": session})
    params = {"sessionId": session, "cwd": "/project", "mcpServers": []}
    assert agent.failure("session/load", params) == -32002
    assert agent.call("session/list", {})["sessions"] == []


def test_a_fork_copies_the_history_and_changes_independently(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    agent.prompt(session, "echo shared")
    fork = agent.call("session/fork", {"sessionId": session, "cwd": "/fork", "mcpServers": []})["sessionId"]
    agent.prompt(fork, "echo own")
    agent.messages.clear()
    agent.call("session/load", {"sessionId": fork, "cwd": "/fork", "mcpServers": []})
    assert agent.said() == "sharedown"
    agent.messages.clear()
    agent.call("session/load", {"sessionId": session, "cwd": "/project", "mcpServers": []})
    assert agent.said() == "shared"


def test_an_unusable_state_directory_only_prevents_loading_after_a_restart(
    start: Start, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a directory", encoding="utf-8")
    agent = start(state=blocked / "state")
    session = agent.new_session()
    agent.prompt(session, "echo hello")
    agent.call("session/load", {"sessionId": session, "cwd": "/project", "mcpServers": []})
    assert agent.said() == "hellohello"
    assert [info["sessionId"] for info in agent.call("session/list", {})["sessions"]] == [session]


def test_old_transcripts_are_removed_and_broken_ones_skipped(start: Start, tmp_path: Path) -> None:
    state = tmp_path / "full"
    state.mkdir()
    for number in range(600):
        content = ("broken", "7", "[]", '{"session": 1}', '{"session": {}}')[number % 5]
        (state / f"old-{number}.jsonl").write_text(content + "\n", encoding="utf-8")
    agent = start(state=state)
    session = agent.new_session()
    assert [info["sessionId"] for info in agent.call("session/list", {})["sessions"]] == [session]
    assert len(list(state.iterdir())) == 501
