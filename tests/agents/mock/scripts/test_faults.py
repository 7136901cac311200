"""The commands that make the mock agent fail on purpose."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.mock.mock_process import WAIT_S, Start
from tests.support.polling import wait_until


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("refuse", "refusal"),
        ("max_tokens", "max_tokens"),
        ("max_turn_requests", "max_turn_requests"),
    ],
)
def test_every_stop_reason_can_be_produced(start: Start, text: str, reason: str) -> None:
    agent = start()
    assert agent.prompt(agent.new_session(), text)["stopReason"] == reason


@pytest.mark.clause("mock-faults")
@pytest.mark.parametrize(("text", "code"), [("fail", -32603), ("fail -32000", -32000)])
def test_fail_answers_with_an_error_and_the_session_continues(start: Start, text: str, code: int) -> None:
    agent = start()
    session = agent.new_session()
    params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
    assert agent.failure("session/prompt", params) == code
    assert agent.prompt(session, "echo on")["stopReason"] == "end_turn"


def test_error_shows_a_failed_tool_an_error_and_unparsed_output(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    agent.prompt(session, "error")
    assert agent.updates("tool_call_update")[-1]["status"] == "failed"
    told = {m["method"]: m["params"] for m in agent.messages if m.get("method", "").startswith("_")}
    assert set(told) == {"_sandboxagent/error", "_sandboxagent/agent/unparsed"}
    assert set(told["_sandboxagent/error"]) == {"sessionId", "message", "code", "details"}
    assert set(told["_sandboxagent/agent/unparsed"]) == {"sessionId", "error", "location", "raw_hash"}


def test_end_ends_the_session(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    assert agent.prompt(session, "end")["stopReason"] == "end_turn"
    [ended] = [m["params"] for m in agent.messages if m.get("method") == "_sandboxagent/session/ended"]
    assert ended == {"sessionId": session, "reason": "completed", "terminated_by": "agent"}
    assert agent.failure("session/prompt", {"sessionId": session, "prompt": []}) == -32002


@pytest.mark.clause("mock-faults")
def test_flood_sends_exactly_as_many_notifications_as_asked_in_order(start: Start) -> None:
    agent = start()
    agent.prompt(agent.new_session(), "flood 1000 10")
    assert agent.said().splitlines() == [f"{number}.........." for number in range(1, 1001)]


def test_big_is_one_line_of_that_size(start: Start) -> None:
    agent = start()
    agent.prompt(agent.new_session(), "big 3000000")
    assert [len(update["content"]["text"]) for update in agent.updates()] == [3_000_000]


def test_floods_and_big_lines_are_not_kept(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    agent.prompt(session, "flood 10")
    agent.prompt(session, "big 10")
    agent.messages.clear()
    agent.call("session/load", {"sessionId": session, "cwd": "/project", "mcpServers": []})
    assert {update["sessionUpdate"] for update in agent.updates()} == {"user_message_chunk"}


@pytest.mark.clause("mock-faults")
def test_garbage_is_printed_between_messages(start: Start) -> None:
    agent = start()
    assert agent.prompt(agent.new_session(), "garbage")["stopReason"] == "end_turn"
    assert len(agent.garbage) == 3
    with pytest.raises(UnicodeDecodeError):
        agent.garbage[1].decode()


def test_stderr_gets_as_many_bytes_as_asked(start: Start) -> None:
    agent = start()
    agent.prompt(agent.new_session(), "stderr 200001")
    assert agent.end_input() == 0
    assert len(agent.stderr()) == 200_001


@pytest.mark.clause("mock-faults")
@pytest.mark.parametrize(("text", "code"), [("crash", 1), ("crash 42", 42)])
def test_crash_leaves_without_an_answer(start: Start, text: str, code: int) -> None:
    agent = start()
    agent.start_prompt(agent.new_session(), text)
    while agent.receive() is not None:
        continue
    assert agent.wait() == code
    assert agent.said() == "I shall crash now."
    assert b"crashing with code" in agent.stderr()


@pytest.mark.clause("mock-faults")
@pytest.mark.parametrize(
    ("text", "number"),
    [("kill", signal.SIGKILL), ("kill SIGTERM", signal.SIGTERM), ("kill segv", signal.SIGSEGV)],
)
def test_kill_dies_of_the_signal(start: Start, text: str, number: signal.Signals) -> None:
    agent = start()
    agent.start_prompt(agent.new_session(), text)
    assert agent.wait() == -number


def test_a_signal_that_does_not_kill_is_survived(start: Start) -> None:
    agent = start()
    agent.prompt(agent.new_session(), "kill CONT")
    assert "I have survived SIGCONT." in agent.said()


def test_exit_answers_then_leaves_with_0(start: Start) -> None:
    agent = start()
    assert agent.prompt(agent.new_session(), "exit")["stopReason"] == "end_turn"
    assert agent.wait() == 0


@pytest.mark.clause("mock-faults")
def test_hang_hard_is_not_ended_by_cancel(start: Start) -> None:
    agent = start()
    session = agent.new_session()
    prompt = agent.start_prompt(session, "hang hard")
    agent.call("authenticate", {"methodId": "any"})  # the turn has begun by now
    agent.send({"method": "session/cancel", "params": {"sessionId": session}})
    agent.prompt(session, "echo still here")
    assert [message for message in agent.messages if message.get("id") == prompt] == []


@pytest.mark.clause("mock-faults")
def test_a_deaf_agent_answers_and_stops_reading(start: Start) -> None:
    agent = start()
    agent.prompt(agent.new_session(), "deaf")
    stdin = agent.process.stdin
    assert stdin is not None
    os.set_blocking(stdin.fileno(), False)
    with pytest.raises(BlockingIOError):
        for _ in range(1000):
            os.write(stdin.fileno(), b"\n" * 65536)
    assert agent.process.poll() is None


def test_a_stubborn_agent_survives_sigterm_and_the_end_of_its_input(start: Start) -> None:
    agent = start()
    agent.prompt(agent.new_session(), "stubborn")
    agent.process.terminate()
    status = Path(f"/proc/{agent.process.pid}/status").read_text(encoding="ascii")
    ignored = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
    assert int(ignored, 16) & 1 << signal.SIGTERM - 1
    assert agent.process.stdin is not None
    agent.process.stdin.close()
    assert agent.process.poll() is None


def test_a_child_lives_in_a_session_of_its_own(start: Start) -> None:
    agent = start()
    agent.prompt(agent.new_session(), "child 60")
    pid = int(agent.said().split("process ")[1].split()[0])
    try:
        assert os.getsid(pid) == pid
        assert agent.end_input() == 0
        os.kill(pid, 0)  # It outlives the agent; the parent of the agent has to find it.
    finally:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not _is_running(pid), WAIT_S, "the end of the child")


def _is_running(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    "text",
    [
        "crash course please",
        "crash 256",
        "kill all bugs",
        "exit through the gift shop",
        "end of story",
        "hang on",
        "deaf ears",
        "stubborn mule",
        "child of time",
        "fail better",
        "flood",
        "flood gates",
        "big deal",
        "stderr output",
        "stream of thought",
        "slow down",
    ],
)
def test_sentences_that_begin_with_a_dangerous_command_are_echoed(start: Start, text: str) -> None:
    agent = start()
    agent.prompt(agent.new_session(), text)
    assert agent.said() == text


def test_a_client_that_stops_reading_ends_the_agent_quietly(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "sandbox_agent.agents.mock"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "SANDBOX_AGENT_MOCK_STATE": str(tmp_path)},
    )
    with process:
        assert process.stdout is not None
        process.stdout.close()
        _, stderr = process.communicate(b"not json\n", timeout=WAIT_S)
    assert (process.returncode, stderr) == (0, b"")
