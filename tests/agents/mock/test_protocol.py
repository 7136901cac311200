"""The mock agent as an ACP agent: handshake, options, errors, content, cancelling, start-up."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import sandbox_agent
from tests.agents.mock.mock_process import PNG, WAIT_S, Json, Start


@pytest.mark.clause("mock-handshake-and-sessions")
def test_initialize_returns_version_capabilities_and_name(start: Start) -> None:
    result = start().call("initialize", {"protocolVersion": 1, "clientCapabilities": {}})
    assert result["protocolVersion"] == 1
    assert [one["id"] for one in result["authMethods"]] == ["mock-login"]
    assert result["agentInfo"]["name"] == "mock"
    capabilities = result["agentCapabilities"]
    assert capabilities["loadSession"] is True
    assert capabilities["promptCapabilities"] == {"image": True, "audio": True, "embeddedContext": True}
    assert {"list", "resume", "close"} <= set(capabilities["sessionCapabilities"])
    assert capabilities["auth"] == {"logout": {}}


@pytest.mark.clause("mock-handshake-and-sessions")
def test_after_a_logout_it_wants_a_login(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    agent.call("logout", {})
    opened = {"cwd": "/project", "mcpServers": []}
    prompt = {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}
    for method, params in (("session/new", opened), ("session/prompt", prompt)):
        assert agent.failure(method, params) == -32000
    agent.call("authenticate", {"methodId": "mock-login"})
    assert agent.call("session/prompt", prompt)["stopReason"] == "end_turn"


@pytest.mark.clause("mock-handshake-and-sessions")
def test_a_new_session_offers_model_mode_and_thought_level(start: Start) -> None:
    result = start().call("session/new", {"cwd": "/project", "mcpServers": []})
    offered = {
        option["id"]: (option["currentValue"], [choice["value"] for choice in option["options"]])
        for option in result["configOptions"]
    }
    assert offered == {
        "model": ("mock", ["mock", "mock-fast"]),
        "mode": ("normal", ["normal", "plan"]),
        "thought_level": ("low", ["low", "medium", "high"]),
    }
    assert {key: result["configOptions"][0][key] for key in ("name", "category", "type")} == {
        "name": "Model",
        "category": "model",
        "type": "select",
    }
    assert result["modes"]["currentModeId"] == "normal"
    assert [mode["id"] for mode in result["modes"]["availableModes"]] == ["normal", "plan"]


@pytest.mark.clause("mock-handshake-and-sessions")
def test_set_mode_sends_both_updates(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    agent.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
    assert [update["currentModeId"] for update in agent.updates("current_mode_update")] == ["plan"]
    [update] = agent.updates("config_option_update")
    assert update["configOptions"][1]["currentValue"] == "plan"


@pytest.mark.clause("mock-handshake-and-sessions")
def test_set_config_option_returns_all_options(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    params = {"sessionId": session, "configId": "model", "value": "mock-fast"}
    result = agent.call("session/set_config_option", params)
    assert [option["currentValue"] for option in result["configOptions"]] == ["mock-fast", "normal", "low"]
    assert len(agent.updates("config_option_update")) == 1
    assert agent.updates("current_mode_update") == []
    params = {"sessionId": session, "configId": "mode", "value": "plan"}
    agent.call("session/set_config_option", params)
    assert len(agent.updates("current_mode_update")) == 1


def test_authenticate_is_accepted(start: Start) -> None:
    assert start().call("authenticate", {"methodId": "any"}) == {}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("session/nonsense", {}, -32601),
        ("_sandboxagent/session/events", {}, -32601),
        ("initialize", {}, -32602),
        ("session/new", {}, -32602),
        ("session/new", {"cwd": "relative", "mcpServers": []}, -32602),
        ("session/new", {"cwd": "/project", "mcpServers": {}}, -32602),
        ("session/prompt", {"prompt": []}, -32602),
        ("session/prompt", {"sessionId": "nobody", "prompt": []}, -32002),
        ("session/load", {"sessionId": "../../etc/passwd", "cwd": "/", "mcpServers": []}, -32002),
        ("session/resume", {"sessionId": "nobody", "cwd": "/", "mcpServers": []}, -32002),
        ("session/close", {"sessionId": "nobody"}, -32002),
        ("session/set_mode", {"sessionId": "nobody", "modeId": "plan"}, -32002),
        ("session/list", {"cursor": "x"}, -32602),
        ("session/list", {"cursor": "9" * 5000}, -32602),
    ],
)
def test_invalid_requests_get_their_error_code(start: Start, method: str, params: Json, code: int) -> None:
    assert start().failure(method, params) == code


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/set_mode", {"modeId": "flying"}),
        ("session/set_config_option", {"configId": "model", "value": "gpt"}),
        ("session/set_config_option", {"configId": "colour", "value": "red"}),
        ("session/prompt", {"prompt": "text"}),
        ("session/prompt", {"prompt": [{"type": "text"}]}),
        ("session/prompt", {"prompt": [{"type": "smell"}]}),
    ],
)
def test_bad_values_in_a_session_are_invalid_params(start: Start, method: str, params: Json) -> None:
    agent = start()
    assert agent.failure(method, {"sessionId": agent.new_session(), **params}) == -32602


def test_lines_that_are_no_requests_get_an_error_with_id_null(start: Start) -> None:
    agent = start()
    for line, code in (
        (b"not json\n", -32700),
        (b"\xff\xfe\n", -32700),
        (b"[" * 100_000 + b"\n", -32700),
        (b'{"a": NaN}\n', -32700),
        (b"[]\n", -32600),
        (b"{}\n", -32600),
    ):
        agent.write(line)
        answer = agent.receive()
        assert answer is not None
        assert (answer["id"], answer["error"]["code"]) == (None, code)
    agent.send({"id": "still-alive", "method": "nonsense"})
    assert agent.answer("still-alive")["error"]["code"] == -32601  # type: ignore[arg-type]


def test_unknown_notifications_late_answers_and_empty_lines_are_ignored(start: Start) -> None:
    agent = start()
    agent.write(b"\n   \n")
    agent.send({"method": "no/such/notification", "params": {}})
    agent.send({"method": "session/cancel", "params": {"sessionId": "nobody"}})
    agent.send({"id": 77, "result": {}})
    agent.call("authenticate", {"methodId": "any"})
    assert len(agent.messages) == 1


def test_a_request_with_id_null_is_answered(start: Start) -> None:
    agent = start()
    agent.send({"id": None, "method": "nonsense"})
    answer = agent.receive()
    assert answer is not None
    assert answer["id"] is None
    assert answer["error"]["code"] == -32601


def test_end_of_input_ends_the_process_with_0(start: Start) -> None:
    agent = start()
    agent.start_prompt(agent.new_session(), "hang")
    assert agent.end_input() == 0
    assert agent.stderr() == b""


def test_a_line_of_many_megabytes_is_read_and_echoed(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    text = "y" * 5_000_000
    agent.prompt(session, f"echo {text}")
    assert agent.said() == text


def test_text_blocks_are_joined_and_other_blocks_acknowledged(start: Start) -> None:
    agent = start()
    agent.prompt(
        agent.new_session(),
        "echo one",
        {"type": "text", "text": "two"},
        {"type": "image", "mimeType": "image/png", "data": PNG},
        {"type": "audio", "mimeType": "audio/wav", "data": "AAAA"},
        {"type": "resource_link", "name": "a", "uri": "file:///a.txt"},
        {"type": "resource", "resource": {"uri": "file:///b.txt", "text": "grün"}},
        {"type": "resource", "resource": {"uri": "file:///d.txt", "text": "\ud83d"}},
        {"type": "resource", "resource": {"uri": "file:///c.bin", "blob": "AAA="}},
    )
    assert agent.said().splitlines() == [
        "received image image/png, 8 bytes",
        "received audio audio/wav, 3 bytes",
        "received resource_link file:///a.txt",
        "received resource file:///b.txt, 5 bytes",
        "received resource file:///d.txt, 3 bytes",
        "received resource file:///c.bin, 2 bytes",
        "one",
        "two",
    ]


def test_a_replayed_history_is_not_executed(start: Start) -> None:
    agent = start()
    history = "Previous session history is replayed below\nuser: question"
    marked = {"type": "text", "text": "crash", "_meta": {"sandboxagent.dev": {"replay": True}}}
    content = [{"type": "text", "text": history}, marked, {"type": "text", "text": "echo hello"}]
    agent.call("session/prompt", {"sessionId": agent.new_session(), "prompt": content})
    assert agent.said().splitlines()[-1] == "hello"
    assert "received a replayed history, 57 characters" in agent.said()


def test_unicode_text_is_echoed_unchanged(start: Start) -> None:
    agent = start()
    text = 'Grüße, 你好, 🙂, "quoted", back\\slash, \ud83d alone'
    agent.prompt(agent.new_session(), f"echo {text}")
    assert agent.said() == text


def test_prompts_run_while_another_waits_for_a_permission(start: Start) -> None:
    agent = start({})
    first, second = agent.new_session(), agent.new_session()
    waiting = agent.start_prompt(first, "permission")
    request = agent.until(method="session/request_permission")
    hanging = agent.start_prompt(first, "hang")
    assert agent.prompt(second, "echo meanwhile")["stopReason"] == "end_turn"
    assert agent.prompt(first, "echo here too")["stopReason"] == "end_turn"
    agent.reply(request, {"outcome": {"outcome": "selected", "optionId": "allow-once"}})
    assert agent.answer(waiting)["result"]["stopReason"] == "end_turn"
    agent.send({"method": "session/cancel", "params": {"sessionId": first}})
    assert agent.answer(hanging)["result"]["stopReason"] == "cancelled"


def test_a_flood_does_not_delay_other_requests(start: Start) -> None:
    agent = start()
    flooded, other = agent.new_session(), agent.new_session()
    flood = agent.start_prompt(flooded, "flood 5000000")
    agent.until(method="session/update")
    agent.prompt(other, "echo over here")
    agent.send({"method": "session/cancel", "params": {"sessionId": flooded}})
    assert agent.answer(flood)["result"]["stopReason"] == "cancelled"


@pytest.mark.clause("mock-cancel")
@pytest.mark.parametrize(
    "text",
    [
        "hang",
        "slow 600000",
        "slow 99999999999999999999",
        "stream 1000000 50",
        "permission",
        "question",
        "elicit",
    ],
)
def test_cancel_ends_the_turn_whatever_it_waits_for(start: Start, text: str) -> None:
    agent = start({"elicitation": {"form": {}}})
    session = agent.new_session()
    prompt = agent.start_prompt(session, text)
    request = None
    if text in ("permission", "question", "elicit"):
        while request is None or "id" not in request:
            request = agent.receive()
            assert request is not None
    agent.send({"method": "session/cancel", "params": {"sessionId": session}})
    assert agent.answer(prompt)["result"]["stopReason"] == "cancelled"
    withdrawn = [m["params"]["requestId"] for m in agent.messages if m.get("method") == "$/cancel_request"]
    assert withdrawn == ([request["id"]] if request else [])
    if request:
        agent.reply(request, {"outcome": {"outcome": "cancelled"}})
    assert agent.prompt(session, "echo after")["stopReason"] == "end_turn"


def test_a_cancelled_permission_leaves_its_tool_call_failed(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    prompt = agent.start_prompt(session, "permission")
    agent.until(method="session/request_permission")
    agent.send({"method": "session/cancel", "params": {"sessionId": session}})
    agent.answer(prompt)
    assert [update["status"] for update in agent.updates("tool_call_update")] == ["failed"]


def test_a_request_can_be_cancelled_by_its_id(start: Start) -> None:
    agent = start()
    prompt = agent.start_prompt(agent.new_session(), "hang")
    agent.send({"method": "$/cancel_request", "params": {"requestId": prompt}})
    assert agent.answer(prompt)["error"]["code"] == -32800


@pytest.mark.clause("mock-cancel")
def test_a_prompt_and_its_cancel_in_one_write_end_cancelled(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    params: Json = {"sessionId": session, "prompt": [{"type": "text", "text": "echo hi"}]}
    messages = [
        {"jsonrpc": "2.0", "id": 901, "method": "session/prompt", "params": params},
        {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}},
    ]
    agent._methods[901] = "session/prompt"
    agent.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
    assert agent.answer(901)["result"]["stopReason"] == "cancelled"


@pytest.mark.clause("mock-starts-lean")
def test_start_up_imports_only_a_little_of_the_standard_library() -> None:
    heavy = [
        "asyncio",
        "dataclasses",
        "inspect",
        "msgspec",
        "pydantic",
        "ssl",
        "subprocess",
        "threading",
    ]
    code = f"import sandbox_agent.agents.mock.main, sys; print([m for m in {heavy} if m in sys.modules])"
    source = str(Path(sandbox_agent.__file__).parent.parent)
    result = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=WAIT_S,
        check=True,
    )
    assert result.stdout.strip() == "[]"


def test_an_idle_agent_uses_no_processor_time(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    agent.start_prompt(session, "hang")
    agent.call("authenticate", {"methodId": "any"})
    stat = Path(f"/proc/{agent.process.pid}/stat")
    before = stat.read_text(encoding="ascii").split()[13:15]
    agent.start_prompt(session, "slow 300")
    time_before = time.monotonic()
    agent.until(method="session/update")
    assert time.monotonic() - time_before >= 0.25
    after = stat.read_text(encoding="ascii").split()[13:15]
    ticks = sum(map(int, after)) - sum(map(int, before))
    assert ticks <= 10  # a busy loop would use thirty
