"""The commands of the mock agent that send updates or ask the client."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox_agent.agents.mock.scripts.commands import COMMANDS
from tests.agents.mock.mock_process import Json, MockProcess, Start


def said_after(start: Start, text: str) -> tuple[MockProcess, str]:
    agent = start()
    assert agent.prompt(agent.new_session(), text)["stopReason"] == "end_turn"
    return agent, agent.said()


@pytest.mark.clause("mock-streams")
def test_anything_else_is_echoed_in_a_few_chunks_with_usage(start: Start) -> None:
    agent = start()
    result = agent.prompt(agent.new_session(), "Hello there, mock agent")
    chunks = agent.updates("agent_message_chunk")
    assert agent.said() == "Hello there, mock agent"
    assert 2 <= len(chunks) <= 4
    assert len({chunk["messageId"] for chunk in chunks}) == 1
    [usage] = agent.updates("usage_update")
    assert usage["size"] > usage["used"] >= 0
    assert result["usage"]["inputTokens"] > 0
    assert result["usage"]["totalTokens"] == result["usage"]["inputTokens"] + result["usage"]["outputTokens"]


def test_an_empty_prompt_is_answered(start: Start) -> None:
    assert said_after(start, "")[1] == "(an empty prompt)"


def test_echo_is_exactly_one_update(start: Start) -> None:
    agent, said = said_after(start, "echo  some text")
    assert said == "some text"
    assert len(agent.updates()) == 1


@pytest.mark.parametrize("text", ["/echo hi", "ECHO hi", "Echo\nhi"])
def test_a_slash_and_capitals_do_not_matter(start: Start, text: str) -> None:
    assert said_after(start, text)[1] == "hi"


@pytest.mark.clause("mock-vocabulary-documented")
def test_help_names_every_command(start: Start) -> None:
    said = said_after(start, "help")[1]
    assert [word for word, *_ in COMMANDS if f"`{word}" not in said] == []


@pytest.mark.clause("mock-vocabulary-documented")
def test_the_documentation_names_every_command() -> None:
    page = (Path(__file__).parents[4] / "docs" / "mock-agent.md").read_text(encoding="utf-8")
    documented = [f"`{f'{word} {arguments}'.strip()}`" for word, arguments, *_ in COMMANDS]
    assert [word for word in documented if word not in page] == []


def test_commands_are_announced(start: Start) -> None:
    agent, _ = said_after(start, "commands")
    [update] = agent.updates("available_commands_update")
    assert [command["name"] for command in update["availableCommands"]] == [word for word, *_ in COMMANDS]


def test_markdown_is_streamed(start: Start) -> None:
    agent, said = said_after(start, "markdown")
    assert "```python" in said
    assert len(agent.updates("agent_message_chunk")) > 5


def test_a_higher_thought_level_gives_more_thoughts(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    agent.prompt(session, "think")
    assert len(agent.updates("agent_thought_chunk")) == 1
    params = {"sessionId": session, "configId": "thought_level", "value": "high"}
    agent.call("session/set_config_option", params)
    agent.prompt(session, "think")
    assert len(agent.updates("agent_thought_chunk")) == 4


def test_a_plan_goes_from_pending_to_completed(start: Start) -> None:
    agent, _ = said_after(start, "plan")
    plans = agent.updates("plan")
    assert [entry["status"] for entry in plans[0]["entries"]] == ["in_progress", "pending", "pending"]
    assert [entry["status"] for entry in plans[-1]["entries"]] == ["completed"] * 3


def test_a_tool_call_has_input_locations_and_output(start: Start) -> None:
    agent, _ = said_after(start, "tool")
    [call] = agent.updates("tool_call")
    assert call["locations"] == [{"path": "/project/README.md", "line": 1}]
    assert call["rawInput"] == {"path": "/project/README.md"}
    last = agent.updates("tool_call_update")[-1]
    assert (last["toolCallId"], last["status"]) == (call["toolCallId"], "completed")
    assert last["rawOutput"]["lines"] == 1
    assert last["content"][1]["content"]["type"] == "resource_link"


@pytest.mark.clause("mock-streams")
def test_diffs_change_one_file_and_create_another(start: Start) -> None:
    agent, _ = said_after(start, "diff")
    changed, created = (update["content"][0] for update in agent.updates("tool_call_update"))
    assert (changed["type"], changed["path"]) == ("diff", "/project/greeting.py")
    assert changed["oldText"] != changed["newText"]
    assert created["oldText"] is None


def test_an_image_is_a_png(start: Start) -> None:
    agent, _ = said_after(start, "image")
    image = agent.updates("agent_message_chunk")[1]["content"]
    assert (image["type"], image["mimeType"]) == ("image", "image/png")
    assert image["data"].startswith("iVBORw0KGgo")


def test_status_shows_every_status_item(start: Start) -> None:
    agent, _ = said_after(start, "status")
    shown = {update["sessionUpdate"] for update in agent.updates()}
    assert shown == {
        "plan",
        "usage_update",
        "current_mode_update",
        "config_option_update",
        "available_commands_update",
        "session_info_update",
        "agent_message_chunk",
    }


def test_usage_grows_with_the_session(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    agent.prompt(session, "usage")
    agent.prompt(session, "echo " + "word " * 100)
    agent.prompt(session, "usage")
    first, second = (update["used"] for update in agent.updates("usage_update"))
    assert second > first + 200


def test_a_title_is_sent_and_listed(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    agent.prompt(session, "title A fine name")
    assert agent.updates("session_info_update")[0]["title"] == "A fine name"
    assert agent.call("session/list", {})["sessions"][0]["title"] == "A fine name"


def test_stream_sends_as_many_chunks_as_asked(start: Start) -> None:
    said = said_after(start, "stream 100 1")[1]
    assert said.splitlines() == [f"chunk {number}" for number in range(1, 101)]


def test_slow_waits(start: Start) -> None:
    assert said_after(start, "slow 20")[1] == "I waited 20 ms."


def test_info_shows_process_session_and_client(start: Start) -> None:
    agent = start({"fs": {"readTextFile": True}})
    server = {"name": "files", "command": "/bin/true", "args": [], "env": []}
    session = agent.call("session/new", {"cwd": "/project", "mcpServers": [server]})["sessionId"]
    agent.prompt(session, "info")
    facts = json.loads(agent.said())
    assert facts["pid"] == agent.process.pid
    assert facts["sessionDirectory"] == "/project"
    assert facts["mcpServers"] == [server]
    assert facts["clientCapabilities"] == {"fs": {"readTextFile": True}}


@pytest.mark.clause("mock-permission")
@pytest.mark.parametrize(
    ("text", "option", "status", "words"),
    [
        ("permission", "allow-once", "completed", "selected allow-once (allow_once)"),
        ("permission", "allow-always", "completed", "selected allow-always (allow_always)"),
        ("permission please", "reject-once", "failed", "selected reject-once (reject_once)"),
        ("permission all", "reject-always", "failed", "selected reject-always (reject_always)"),
        ("permission", "reject-always", "failed", "unknown option 'reject-always'"),
    ],
)
def test_a_permission_is_requested_and_its_outcome_repeated(
    start: Start, text: str, option: str, status: str, words: str
) -> None:
    agent = start()
    prompt = agent.start_prompt(agent.new_session(), text)
    request = agent.until(method="session/request_permission")
    [call] = agent.updates("tool_call")
    assert request["params"]["toolCall"]["toolCallId"] == call["toolCallId"]
    kinds = [offered["kind"] for offered in request["params"]["options"]]
    expected = ["allow_once", "allow_always", "reject_once", "reject_always"]
    assert kinds == (expected if text == "permission all" else expected[:3])
    agent.reply(request, {"outcome": {"outcome": "selected", "optionId": option}})
    assert agent.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert agent.updates("tool_call_update")[-1]["status"] == status
    assert agent.said() == f"Permission outcome: {words}"


@pytest.mark.clause("mock-permission")
@pytest.mark.parametrize(("option", "status"), [("allow-once", "completed"), ("reject-always", "failed")])
def test_a_permission_to_read_is_requested(start: Start, option: str, status: str) -> None:
    agent = start()
    prompt = agent.start_prompt(agent.new_session(), "permission read all")
    request = agent.until(method="session/request_permission")
    assert request["params"]["toolCall"]["kind"] == "read"
    assert "content" not in request["params"]["toolCall"]
    agent.reply(request, {"outcome": {"outcome": "selected", "optionId": option}})
    agent.answer(prompt)
    last = agent.updates("tool_call_update")[-1]
    assert (last["status"], "content" in last) == (status, status == "completed")


@pytest.mark.clause("mock-permission")
@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"result": {"outcome": {"outcome": "cancelled"}}}, "cancelled"),
        ({"result": 17}, "not understood: 17"),
        ({"error": {"code": -1, "message": "no"}}, "the client answered with an error"),
    ],
)
def test_a_refused_permission_fails_the_tool(start: Start, reply: Json, words: str) -> None:
    agent = start()
    prompt = agent.start_prompt(agent.new_session(), "permission")
    request = agent.until(method="session/request_permission")
    agent.send({"id": request["id"], **reply})
    agent.answer(prompt)
    assert agent.updates("tool_call_update")[-1]["status"] == "failed"
    assert agent.said().startswith(f"Permission outcome: {words}")


def test_an_approved_plan_leaves_plan_mode(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    agent.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
    prompt = agent.start_prompt(session, "plan approval")
    request = agent.until(method="session/request_permission")
    assert request["params"]["toolCall"]["kind"] == "switch_mode"
    agent.reply(request, {"outcome": {"outcome": "selected", "optionId": "exit-plan-normal"}})
    agent.answer(prompt)
    assert agent.updates("current_mode_update")[-1]["currentModeId"] == "normal"


@pytest.mark.clause("spec4-payload-shape-of-the-mock")
@pytest.mark.parametrize(
    ("text", "result", "words"),
    [
        ("question", {"status": "answered", "answers": [["option-a"]]}, "You answered: option-a"),
        ("Any questions?", {"status": "rejected"}, "You rejected the question."),
        (
            "multi-select question",
            {"status": "answered", "answers": [["option-a", "option-c"]]},
            "You answered: option-a, option-c",
        ),
        ("free question", {"status": "answered", "answers": [["Ada"]]}, "You answered: Ada"),
        ("question", {"status": "answered", "answers": []}, "You answered: nothing"),
        ("question", {"status": "odd"}, 'The answer was not understood: {"status": "odd"}'),
        ("elicit", {"status": "rejected"}, "You rejected the question."),
    ],
)
def test_a_question_has_the_form_of_the_spec_and_its_answer_is_repeated(
    start: Start, text: str, result: Json, words: str
) -> None:
    agent = start({})
    session = agent.new_session()
    prompt = agent.start_prompt(session, text)
    request = agent.until(method="_sandboxagent/session/request_question")
    params = request["params"]
    expected = {"sessionId", "questionId", "prompt", "options", "_meta"}
    assert set(params) == expected | ({"multiSelect"} if "multi" in text else set())
    assert params["sessionId"] == session
    assert len(params["questionId"]) == 36
    options = [["option-a", "Option A"], ["option-b", "Option B"], ["option-c", "Option C"]]
    assert params["options"] == ([] if "free" in text else options)
    agent.reply(request, result)
    assert agent.answer(prompt)["result"]["stopReason"] == "end_turn"
    assert agent.said() == words


@pytest.mark.clause("mock-elicitation")
@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"action": "accept", "content": {"colour": "red"}}, 'You accepted: {"colour": "red"}'),
        ({"action": "decline"}, "You answered: decline"),
        ({"action": "cancel"}, "You answered: cancel"),
    ],
)
def test_a_client_with_forms_gets_a_form(start: Start, result: Json, words: str) -> None:
    agent = start({"elicitation": {"form": {}}})
    prompt = agent.start_prompt(agent.new_session(), "elicit")
    request = agent.until(method="elicitation/create")
    kinds = [field["type"] for field in request["params"]["requestedSchema"]["properties"].values()]
    assert kinds == ["string", "array", "boolean", "integer", "string"]
    agent.reply(request, result)
    agent.answer(prompt)
    assert agent.said() == words


@pytest.mark.clause("mock-acp-v1")
@pytest.mark.parametrize(
    ("prompt", "said"),
    [
        ("notice", "This client shows no notices."),
        ("notice The limit is near", "The limit is near"),
        ("compact", "The context is compacted."),
        ("compact fail", "The compaction failed."),
    ],
)
def test_a_client_that_declares_no_notices_and_compactions_gets_text(
    start: Start, prompt: str, said: str
) -> None:
    agent, heard = said_after(start, prompt)
    assert heard == said and len(agent.updates()) == len(agent.updates("agent_message_chunk"))


@pytest.mark.clause("mock-streams")
def test_terminal_output_is_text_for_a_plain_client(start: Start) -> None:
    agent, _ = said_after(start, "terminal")
    texts = [update["content"][0]["content"]["text"] for update in agent.updates("tool_call_update")]
    assert texts == ["hel", "hello\n", "hello\n"]


def test_terminal_output_is_in_meta_for_a_client_that_reads_it(start: Start) -> None:
    agent = start({"_meta": {"terminal_output": True}})
    agent.prompt(agent.new_session(), "terminal")
    [call] = agent.updates("tool_call")
    assert call["content"] == [{"type": "terminal", "terminalId": call["toolCallId"]}]
    output, ended = agent.updates("tool_call_update")
    assert output["_meta"]["terminal_output"]["data"] == "hello\r\n"
    assert ended["_meta"]["terminal_exit"]["exit_code"] == 0


def test_a_client_with_terminals_is_asked_to_run_the_command(start: Start) -> None:
    agent = start({"terminal": True})
    prompt = agent.start_prompt(agent.new_session(), "terminal")
    for method, result in (
        ("terminal/create", {"terminalId": "t1"}),
        ("terminal/wait_for_exit", {"exitCode": 0, "signal": None}),
        ("terminal/output", {"output": "hello\n", "truncated": False}),
        ("terminal/release", {}),
    ):
        agent.reply(agent.until(method=method), result)
    agent.answer(prompt)
    assert agent.said() == "The command left with 0 and printed 'hello\\n'."


def test_a_failed_client_terminal_is_reported(start: Start) -> None:
    agent = start({"terminal": True})
    prompt = agent.start_prompt(agent.new_session(), "terminal")
    request = agent.until(method="terminal/create")
    agent.send({"id": request["id"], "error": {"code": -32603, "message": "no terminals left"}})
    agent.answer(prompt)
    assert agent.updates("tool_call_update")[-1]["status"] == "failed"


def test_a_file_is_read_through_a_client_that_offers_it(start: Start) -> None:
    agent = start({"fs": {"readTextFile": True}})
    session = agent.new_session()
    prompt = agent.start_prompt(session, "read /project/a.txt")
    request = agent.until(method="fs/read_text_file")
    assert request["params"]["path"] == "/project/a.txt"
    agent.reply(request, {"content": "hello"})
    agent.answer(prompt)
    assert agent.said() == "The file says: hello"


def test_a_file_is_not_requested_from_a_client_that_cannot_read_it(start: Start) -> None:
    assert said_after(start, "read /project/a.txt")[1] == "read /project/a.txt"


@pytest.mark.clause("mock-streams")
def test_demo_shows_every_kind_of_update_and_asks_both_ways(start: Start) -> None:
    agent = start({})
    session = agent.new_session()
    params = {"sessionId": session, "configId": "model", "value": "mock-fast"}
    agent.call("session/set_config_option", params)
    prompt = agent.start_prompt(session, "demo")
    permission = agent.until(method="session/request_permission")
    agent.reply(permission, {"outcome": {"outcome": "selected", "optionId": "allow-once"}})
    question = agent.until(method="_sandboxagent/session/request_question")
    agent.reply(question, {"status": "answered", "answers": [["option-b"]]})
    assert agent.answer(prompt)["result"]["stopReason"] == "end_turn"
    shown = {update["sessionUpdate"] for update in agent.updates()}
    assert len(shown) == 10
    started = {update["toolCallId"] for update in agent.updates("tool_call")}
    ended = [
        update["toolCallId"]
        for update in agent.updates("tool_call_update")
        if update["status"] == "completed"
    ]
    assert sorted(started) == sorted(ended)
