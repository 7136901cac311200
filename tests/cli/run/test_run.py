"""`run` as programs use it: words on stdout, everything else on stderr, an exit code that means something."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.cli.conftest import Api
from tests.cli.sandbox_directory import SandboxDirectory
from tests.support.processes import wait_until


@pytest.mark.clause("cli-run")
def test_the_answer_is_all_there_is_on_stdout(sandbox: SandboxDirectory) -> None:
    result = sandbox.run("run", "mock", "echo hello there").good()
    assert result.out == "hello there\n"
    sandbox.wait_until_quiet()


def test_tools_are_shown_on_stderr_and_can_be_left_out(sandbox: SandboxDirectory) -> None:
    result = sandbox.run("run", "mock", "tool").good()
    assert result.out == "I have read README.md.\n"
    assert "[read_file]" in result.err
    assert sandbox.run("run", "mock", "tool", "--quiet").good().err == ""


@pytest.mark.clause("cli-run")
@pytest.mark.parametrize(
    ("prompt", "code"),
    [("refuse", 3), ("max_tokens", 4), ("max_turn_requests", 5), ("fail", 1), ("crash", 1)],
    ids=["refusal", "tokens", "turns", "agent error", "agent crash"],
)
def test_the_exit_code_says_how_it_ended(sandbox: SandboxDirectory, prompt: str, code: int) -> None:
    result = sandbox.run("run", "mock", prompt)
    assert result.code == code, result
    assert result.err.strip()
    assert "Traceback" not in result.err


def test_an_unknown_agent_is_reported_by_the_server(sandbox: SandboxDirectory) -> None:
    result = sandbox.run("run", "unknown", "hello")
    assert result.code == 1
    assert json.loads(result.err)["type"] == "urn:sandbox-agent:error:unsupported_agent"


def test_the_prompt_may_come_from_stdin(sandbox: SandboxDirectory) -> None:
    assert sandbox.run("run", "mock", "-", stdin="echo from a pipe").good().out == "from a pipe\n"
    assert sandbox.run("run", "mock", stdin="echo from a pipe").good().out == "from a pipe\n"
    assert sandbox.run("run", "mock", stdin="").code == 2


@pytest.mark.clause("cli-run")
@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ((), "reject-once"),
        (("--approve", "none"), "reject-once"),
        (("--approve", "reads"), "reject-once"),
        (("--approve", "all"), "allow-once"),
    ],
    ids=["no terminal", "none", "reads only", "all"],
)
def test_permissions_without_a_person_follow_the_policy(
    sandbox: SandboxDirectory, words: tuple[str, ...], outcome: str
) -> None:
    """The mock wants to write a file, which is not reading."""
    result = sandbox.run("run", "mock", "permission", *words).good()
    assert result.out == f"Permission outcome: selected {outcome} ({outcome.replace('-', '_')})\n"


@pytest.mark.clause("cli-run")
@pytest.mark.parametrize(("approve", "outcome"), [("none", "reject-once"), ("reads", "allow-once")])
def test_a_tool_that_only_reads_follows_the_policy(
    sandbox: SandboxDirectory, approve: str, outcome: str
) -> None:
    result = sandbox.run("run", "mock", "permission read", "--approve", approve).good()
    assert result.out == f"Permission outcome: selected {outcome} ({outcome.replace('-', '_')})\n"


@pytest.mark.clause("cli-run")
def test_a_question_without_a_person_is_rejected(sandbox: SandboxDirectory) -> None:
    result = sandbox.run("run", "mock", "question").good()
    assert result.out == "You rejected the question.\n"
    assert "not answered" in result.err


@pytest.mark.clause("cli-run-session")
def test_a_named_conversation_continues(sandbox: SandboxDirectory) -> None:
    """The mock tells in `info` which values its session has, and it loads the session it had."""
    first = sandbox.run("run", "mock", "echo one", "--session", "mine", "--model", "mock-fast").good()
    assert first.out == "one\n"
    told = sandbox.run("run", "mock", "info", "--session", "mine").good()
    assert json.loads(told.out)["values"]["model"] == "mock-fast"
    assert "one" not in told.out, "the turns before are not shown again"
    again = sandbox.run("run", "mock", "info", "-s", "mine", "--mode", "plan", "--json").good()
    events = [json.loads(line) for line in again.out.splitlines()]
    assert [event["type"] for event in events][-1] == "turn.ended"
    assert {event["session_id"] for event in events} == {"mine"}
    other = json.loads(sandbox.run("run", "mock", "info", "--session", "other").good().out)
    assert other["values"]["model"] == "mock"
    store = sandbox.data / "conversations.db"
    assert store.stat().st_mode & 0o777 == 0o600
    sandbox.wait_until_quiet()


@pytest.mark.clause("cli-run-session")
def test_a_conversation_belongs_to_its_agent_and_directory(sandbox: SandboxDirectory, tmp_path: Path) -> None:
    sandbox.run("run", "mock", "echo one", "--session", "mine").good()
    wrong = sandbox.run("run", "claude", "hello", "--session", "mine")
    assert wrong.code == 2 and "mock" in wrong.err
    assert sandbox.run("run", "mock", "hello", "--session", " ").code == 2
    elsewhere = sandbox.run("run", "mock", "info", "--session", "mine", "-d", str(tmp_path)).good()
    assert json.loads(elsewhere.out)["sessionDirectory"] != str(tmp_path)
    assert "takes place in" in elsewhere.err


@pytest.mark.clause("cli-run")
def test_json_gives_universal_events_one_a_line(sandbox: SandboxDirectory) -> None:
    result = sandbox.run("run", "mock", "tool", "--json").good()
    events = [json.loads(line) for line in result.out.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds[0] == "session.started"
    assert kinds[-1] == "turn.ended"
    assert {"turn.started", "item.started", "item.completed"} <= set(kinds)
    assert [event["sequence"] for event in events] == list(range(1, len(events) + 1))


def test_model_mode_and_directory_reach_the_agent(sandbox: SandboxDirectory) -> None:
    work = sandbox.home / "work"
    work.mkdir()
    words = ("--model", "mock-fast", "--mode", "plan", "--thought-level", "high", "-d", str(work))
    told = sandbox.run("run", "mock", "info", *words).good().out
    assert "mock-fast" in told and str(work) in told
    refused = sandbox.run("run", "mock", "info", "--model", "no-such-model")
    assert refused.code == 1
    assert "mock-fast" in refused.err, "the error lists the models there are"


def test_attachments_reach_the_agent(sandbox: SandboxDirectory) -> None:
    (sandbox.home / "notes.txt").write_text("hi")
    assert "notes.txt" in sandbox.run("run", "mock", "echo ok", "--attach", "notes.txt").good().out


@pytest.mark.clause("cli-run")
def test_a_server_that_runs_can_be_used(api: Api) -> None:
    words = ("run", "mock", "echo over there", "--endpoint", api.environment["SANDBOX_AGENT_URL"])
    assert api.sandbox.run(*words, environment=api.environment).good().out == "over there\n"
    assert api("acp", "list").good().json["servers"] == [], "nothing is left on the server"


@pytest.mark.clause("cli-run")
def test_an_interrupt_ends_everything(sandbox: SandboxDirectory) -> None:
    running = sandbox.open("run", "mock", "hang", "--json")
    assert running.stdout is not None
    while b"turn.started" not in running.stdout.readline():
        pass
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=30)
    assert running.returncode == 130
    wait_until(lambda: not sandbox.processes(), 10, "the end of server and agent")
