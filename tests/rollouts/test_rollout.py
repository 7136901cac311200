"""One rollout: steps, files, commands, grading, limits, what is kept; every failure is a row."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent, LocalProvider, PermissionRequest, SpawnOptions
from sandbox_agent.rollouts import Result, Rollout
from tests.support.polling import eventually
from tests.support.processes import children_of

GIT_BASE = "git init -q . && git add . && git -c user.name=a -c user.email=a@b commit -qm base"


def half_marks(task: Any, result: Result) -> float:
    return 0.5 if result.text == task["wanted"] else 0.0


def broken_score(task: Any, result: Result) -> float:
    raise KeyError("no such field")


def late_score(task: Any, result: Result) -> float:
    raise TimeoutError("the judge did not answer")


def refuse(request: PermissionRequest) -> str:
    return "reject"


def local_server(home: str) -> LocalProvider:
    return LocalProvider(SpawnOptions(env={"HOME": home, "XDG_DATA_HOME": f"{home}/data"}))


@pytest.mark.clause("rollouts-rollout")
async def test_task_is_prepared_prompted_and_graded() -> None:
    rollout = Rollout(
        agent="mock",
        prompt=["echo first {name}", "echo second {name}"],
        files={"note.txt": "from the rollout"},
        before=["cat note.txt own.txt > both.txt"],
        after=["grep -q 'of the task' both.txt", "test -f both.txt"],
        keep_files=["both.txt", "missing.txt"],
    )
    task = {"id": "a", "name": "task", "files": {"own.txt": " of the task"}}
    result = await rollout.run(task, attempt=3)
    assert (result.error, result.id, result.attempt, result.text) == (None, "a", 3, "second task")
    assert result.score == 1.0 and result.passed
    assert result.exit_codes == {
        "cat note.txt own.txt > both.txt": 0,
        "grep -q 'of the task' both.txt": 0,
        "test -f both.txt": 0,
    }
    assert result.artifacts["files/both.txt"] == b"from the rollout of the task"
    assert result.total_tokens and result.seconds > 0 and result.node and result.sandbox
    assert Result.from_row(json.loads(json.dumps(result.to_row()))).text == "second task"


@pytest.mark.clause("rollouts-rollout")
async def test_transcript_events_and_patch_are_kept() -> None:
    rollout = Rollout(
        agent="mock",
        prompt="diff",
        files={"tracked": "one\n"},
        before=[
            GIT_BASE,
            "echo two > tracked && echo new > untracked",
        ],
        keep=["transcript", "events", "patch"],
    )
    result = await rollout.run({"id": "patch"})
    assert result.error is None, result.error
    trajectory = json.loads(result.artifacts["trajectory.json"])
    assert trajectory["schema_version"] == "ATIF-v1.8" and trajectory["steps"][0]["source"] == "user"
    assert any("tool_calls" in step for step in trajectory["steps"])
    messages = [json.loads(line) for line in result.artifacts["messages.jsonl"].splitlines()]
    sent = {(message["sender"], message["payload"].get("method")) for message in messages}
    assert {("client", "session/prompt"), ("agent", "session/update")} <= sent
    assert all(message["createdAt"] > 1.7e12 for message in messages)
    patch = result.artifacts["patch.diff"]
    assert b"+two" in patch and b"+new" in patch


@pytest.mark.clause("rollouts-rollout")
async def test_own_functions_score_and_decide() -> None:
    rollout = Rollout(agent="mock", score=half_marks, permissions=refuse)
    assert (await rollout.run({"prompt": "echo yes", "wanted": "yes"})).score == 0.5
    assert "reject" in (await rollout.run({"prompt": "permission", "wanted": ""})).text.lower()
    assert pickle.loads(pickle.dumps(rollout)) == rollout  # noqa: S301


@pytest.mark.parametrize(
    ("options", "task", "kind", "text"),
    [
        ({}, {"nothing": 1}, "task", "no prompt"),
        ({}, 5, "task", "no prompt"),
        ({"before": ["echo broken >&2; exit 3"]}, "echo x", "setup", "exited with 3: broken"),
        ({"agent": "no-such-agent"}, "echo x", "agent", "no-such-agent"),
        ({}, "crash 7", "agent", "7"),
        ({"timeout_s": 3.0}, "hang", "timeout", "3 s"),
        ({"max_cost_usd": 0.0}, {"steps": ["big 4000", "usage"]}, "cost_limit", "0 allowed"),
        ({"score": broken_score}, "echo x", "grading", "no such field"),
        ({"score": late_score}, "echo x", "grading", "the judge"),
    ],
)
@pytest.mark.clause("rollouts-rollout")
async def test_failure_is_a_row(options: dict[str, Any], task: Any, kind: str, text: str) -> None:
    result = await Rollout(**{"agent": "mock", **options}).run(task, id="f")
    assert (result.error_kind, result.failed, result.id) == (kind, True, "f")
    assert text in str(result.error)


@pytest.mark.clause("rollouts-rollout")
async def test_what_was_said_before_a_failure_is_kept() -> None:
    result = await Rollout(agent="mock").run({"steps": ["echo first", "crash 3"]})
    assert result.error_kind == "agent"
    steps = json.loads(result.artifacts["trajectory.json"])["steps"]
    assert [step["message"] for step in steps][:3] == ["echo first", "first", "crash 3"]
    assert b"crash 3" in result.artifacts["messages.jsonl"]


@pytest.mark.clause("rollouts-rollout")
async def test_patch_and_files_of_a_failed_rollout_are_kept() -> None:
    rollout = Rollout(
        agent="mock",
        max_cost_usd=0.0,
        files={"note": "one\n"},
        before=[GIT_BASE, "echo two > note"],
        keep=["patch"],
        keep_files=["note"],
    )
    result = await rollout.run({"steps": ["big 4000", "usage"]})
    assert result.error_kind == "cost_limit"
    assert b"+two" in result.artifacts["patch.diff"] and result.artifacts["files/note"] == b"two\n"


@pytest.mark.clause("rollouts-rollout")
async def test_large_patch_is_whole() -> None:
    rollout = Rollout(agent="mock", files={"a": "1\n"}, before=[GIT_BASE, "seq 300000 > a"], keep=["patch"])
    patch = (await rollout.run("echo x")).artifacts["patch.diff"]
    assert len(patch) > 2_000_000 and patch.startswith(b"diff --git") and patch.endswith(b"+300000\n")


@pytest.mark.clause("rollouts-rollout")
async def test_background_of_a_command_lives_until_the_end_of_the_rollout() -> None:
    rollout = Rollout(
        agent="mock",
        before=["sleep 987 & echo $! > pid", "kill -0 $(cat pid)"],
        after=["kill -0 $(cat pid)", "cat pid"],
    )
    result = await rollout.run("echo x")
    assert (result.error, result.score) == (None, 1.0)
    assert result.seconds < 60, "a command ends when its shell exits"
    pid = int(result.outputs["cat pid"])
    await eventually(lambda: not Path(f"/proc/{pid}").exists(), 10)


@pytest.mark.clause("rollouts-rollout")
async def test_commands_may_take_longer_and_write_more_than_one_request_of_the_server() -> None:
    limits = ["--process-max-run-timeout-ms", "500", "--process-output-bytes", "100"]
    rollout = Rollout(agent="mock", after=["sleep 1.5; seq 100000", "cat", "kill -9 $$"])
    async with await AsyncSandboxAgent.start(spawn={"args": limits}) as started:
        async with await AsyncSandboxAgent.connect(started.base_url, started.token) as client:
            result = await rollout.run("echo x", client=client)
    assert list(result.exit_codes.values()) == [0, 0, 137], result
    assert result.outputs["sleep 1.5; seq 100000"].endswith("99999\n100000\n")


@pytest.mark.timeout(120)
@pytest.mark.clause("rollouts-rollout")
async def test_server_that_no_longer_answers_does_not_hold_up_the_batch() -> None:
    async with await AsyncSandboxAgent.start() as client:
        provider = client.provider
        assert isinstance(provider, LocalProvider)
        (server,) = provider._servers.values()

        async def in_a_turn() -> bool:
            agents = await client.acp.list()
            return any(agent.pending_requests and agent.last_event_id >= 2 for agent in agents)

        running = asyncio.create_task(Rollout(agent="mock", timeout_s=8.0).run("slow 60000", client=client))
        await eventually(in_a_turn)
        os.kill(server.pid, signal.SIGSTOP)
        try:
            result = await running
        finally:
            os.kill(server.pid, signal.SIGCONT)
    assert result.error_kind == "timeout" and result.seconds < 60


@pytest.mark.clause("rollouts-rollout")
async def test_failed_command_of_the_grading_is_a_score_of_zero() -> None:
    rollout = Rollout(agent="mock", after=["sleep 60", "true"], command_timeout_s=0.5)
    result = await rollout.run("echo x")
    assert (result.score, result.passed, result.failed) == (0.0, False, False)
    assert result.exit_codes == {"sleep 60": 124, "true": 0}


@pytest.mark.clause("rollouts-rollout")
async def test_score_that_waits_does_not_hold_up_other_rollouts() -> None:
    together = threading.Barrier(2, timeout=60)

    def judge(task: Any, result: Result) -> float:
        together.wait()
        return 1.0

    rollout = Rollout(agent="mock", score=judge, keep=())
    async with await AsyncSandboxAgent.start() as client:
        rows = await asyncio.gather(*(rollout.run(f"echo {n}", client=client) for n in range(2)))
    assert [row.score for row in rows] == [1.0, 1.0], rows


@pytest.mark.parametrize(("prompt", "after"), [("slow 60000", ()), ("echo x", ["sleep 60"])])
@pytest.mark.clause("rollouts-rollout")
async def test_sandbox_that_is_killed_is_a_failed_row_at_once(prompt: str, after: Sequence[str]) -> None:
    provider = LocalProvider()
    rollout = Rollout(
        agent="mock", sandbox=provider, before=["true"], after=after, command_timeout_s=90, keep=["patch"]
    )
    running = asyncio.create_task(rollout.run(prompt))
    wanted = "sleep 60" if after else "agents.mock"
    await eventually(lambda: bool(_commands_below(provider, wanted)), 30)
    (server,) = provider._servers.values()
    os.kill(server.pid, signal.SIGKILL)
    killed = time.monotonic()
    result = await running
    assert (result.error_kind in ("agent", "connection"), "proc" in str(result.error)) == (True, bool(after))
    assert time.monotonic() - killed < 30


def _commands_below(provider: LocalProvider, wanted: str) -> list[str]:
    """The command lines with this text of processes that the server has started."""
    pids = [child for server in provider._servers.values() for child in children_of(server.pid)]
    lines = [Path(f"/proc/{pid}/cmdline") for pid in pids]
    found = [line.read_bytes().replace(b"\0", b" ").decode() for line in lines if line.exists()]
    return [text for text in found if wanted in text]


@pytest.mark.parametrize(
    "wrong", [{"permissions": "aprove"}, {"questions": "ask"}, {"keep": ["patches"]}, {"keep": "diff"}]
)
@pytest.mark.clause("rollouts-rollout")
def test_names_that_do_not_exist_are_told_before_any_task_runs(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} has no"):
        Rollout(agent="mock", **wrong)


@pytest.mark.clause("rollouts-rollout")
async def test_each_rollout_has_a_sandbox_of_its_own(tmp_path: Path) -> None:
    rollout = Rollout(agent="mock", sandbox=partial(local_server, str(tmp_path)))
    first, second = await rollout.run("echo 1"), await rollout.run("echo 2")
    assert (first.text, second.text) == ("1", "2") and first.sandbox != second.sandbox
    broken = Rollout(agent="mock", sandbox=LocalProvider(SpawnOptions(binary_path="/nowhere")))
    assert (await broken.run("echo 3")).error_kind == "sandbox"
