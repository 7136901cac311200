"""`sandbox-agent rollouts` and what `sandbox-agent run` leaves for frameworks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pexpect
import pytest

from tests.support.polling import wait_until


def command(place: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(place), "XDG_DATA_HOME": str(place / "data"), **variables}
    return subprocess.run(
        [sys.executable, "-m", "sandbox_agent", *words],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.clause("rollouts-cli")
def test_tasks_of_a_file_are_run_shown_and_continued(tmp_path: Path) -> None:
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"id": "a", "word": "one"}\n{"id": "b", "word": "two"}\n')
    words = ["rollouts", "tasks.jsonl", "--agent", "mock", "-o", "out", "--prompt", "echo {word}", "-q"]
    first = command(tmp_path, *words, "--after", "true", "--sandbox", "local")
    assert first.returncode == 0, first.stderr
    figures = json.loads(command(tmp_path, "rollouts", "show", "out", "--json").stdout)
    assert (figures["rollouts"], figures["passed"], figures["pass_rate"]) == (2, 2, 1.0)
    with tasks.open("a") as file:
        file.write('{"id": "c", "word": "three"}\n')
    second = command(tmp_path, *words, "--after", "false")
    assert second.returncode == 1 and "2 tasks had a row already" in second.stderr
    shown = command(tmp_path, "rollouts", "show", "out", "--picture", "times.svg")
    assert "pass rate" in shown.stdout and "█" in shown.stdout
    picture = ElementTree.parse(tmp_path / "times.svg").getroot()  # noqa: S314 - our own file
    texts = [element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "out: 2 of 3 passed"
    trajectory = json.loads((tmp_path / "out" / "runs" / "a" / "trajectory.json").read_text())
    assert trajectory["steps"][-1]["message"] == "one"


@pytest.mark.clause("rollouts-cli", "rollouts-resume")
def test_progress_is_shown_and_ctrl_c_leaves_rows_to_continue(tmp_path: Path) -> None:
    lines = [json.dumps({"id": str(n), "prompt": "echo x" if n < 2 else "hang"}) for n in range(4)]
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines))
    words = [
        "-m",
        "sandbox_agent",
        "rollouts",
        "tasks.jsonl",
        "--agent",
        "mock",
        "-o",
        "out",
        "--at-once",
        "2",
    ]
    environment = {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_DATA_HOME": str(tmp_path / "data"),
        "TERM": "xterm",
    }
    terminal = pexpect.spawn(
        sys.executable, words, cwd=tmp_path, env=environment, timeout=60, dimensions=(24, 120)
    )
    terminal.expect(r"2/4.*passed 100%.*failed 0.*\$0\.00.*\d:\d\d:\d\d")
    terminal.sendintr()
    terminal.expect("interrupted; the same command continues")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 130
    figures = json.loads(command(tmp_path, "rollouts", "show", "out", "--json").stdout)
    assert figures["rollouts"] == 2


@pytest.mark.clause("rollouts-cli")
def test_wrong_usage_is_named(tmp_path: Path) -> None:
    missing = command(tmp_path, "rollouts", "none.jsonl", "--agent", "mock", "-o", "out", "-q")
    assert missing.returncode == 2 and "none.jsonl" in missing.stderr
    (tmp_path / "tasks.jsonl").write_text('{"id": "a"}\n{"id": ')
    torn = command(tmp_path, "rollouts", "tasks.jsonl", "--agent", "mock", "-o", "out", "-q")
    assert torn.returncode == 2 and "line 2" in torn.stderr
    words = ["rollouts", "tasks.jsonl", "--agent", "mock", "-q"]
    no_field = command(tmp_path, *words, "-o", "out", "--id", "name")
    assert no_field.returncode == 2 and "task 0 has no field 'name'" in no_field.stderr
    no_directory = command(tmp_path, *words, "-o", "tasks.jsonl")
    assert no_directory.returncode == 2 and "tasks.jsonl" in no_directory.stderr
    (tmp_path / "empty").mkdir()
    no_output = command(tmp_path, "rollouts", "show", "empty")
    assert no_output.returncode == 2 and "no rollouts" in no_output.stderr
    half_address = command(tmp_path, *words, "-o", "out", "--model-base-url", "http://127.0.0.1:1")
    assert half_address.returncode == 2 and "--model-key-env" in half_address.stderr
    unset = command(tmp_path, *words, "-o", "out", "--env", "NOT_SET_HERE")
    assert unset.returncode == 2 and "NOT_SET_HERE" in unset.stderr
    image = command(tmp_path, "rollouts", "t.jsonl", "--agent", "mock", "-o", "out", "--sandbox", "docker")
    assert image.returncode == 2 and "--image" in image.stderr


@pytest.mark.clause("rollouts-cli")
def test_missing_package_is_named(tmp_path: Path) -> None:
    for package, extra in (("pyarrow", "rollouts"), ("ray", "ray")):
        (tmp_path / f"{package}.py").write_text(f"raise ModuleNotFoundError(name={package!r})")
        (tmp_path / "tasks.parquet").write_text("")
        (tmp_path / "tasks.jsonl").write_text('{"prompt": "echo x"}\n')
        words = ["tasks.jsonl", "--engine", "ray"] if package == "ray" else ["tasks.parquet"]
        told = command(
            tmp_path, "rollouts", *words, "--agent", "mock", "-o", "out", "-q", PYTHONPATH=str(tmp_path)
        )
        assert told.returncode == 2 and f"pip install 'sandbox-agent[{extra}]'" in told.stderr, told.stderr


@pytest.mark.clause("rollouts-cli", "rollouts-resume")
def test_sigterm_ends_the_batch_as_ctrl_c_does(tmp_path: Path) -> None:
    lines = [json.dumps({"id": str(n), "prompt": "echo x" if n < 2 else "hang"}) for n in range(4)]
    (tmp_path / "tasks.jsonl").write_text("\n".join(lines))
    words = ["rollouts", "tasks.jsonl", "--agent", "mock", "-o", "out", "--at-once", "2", "-q"]
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    batch = subprocess.Popen(
        [sys.executable, "-m", "sandbox_agent", *words],
        cwd=tmp_path,
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    journal = tmp_path / "out" / "journal.jsonl"
    wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") == 2, 60, "two rows")
    batch.terminate()
    _, errors = batch.communicate(timeout=60)
    assert batch.returncode == 130 and "the same command continues" in errors


@pytest.mark.clause("rollouts-cli")
def test_first_failure_of_each_kind_is_shown(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"id": "a", "prompt": "echo x"}\n')
    failed = command(tmp_path, "rollouts", "tasks.jsonl", "--agent", "no-such-agent", "-o", "out", "-q")
    assert failed.returncode == 1
    assert "first failure of agent, task a: unsupported agent: no-such-agent" in failed.stdout
    assert "--retry-failed runs" in failed.stderr
    again = ["rollouts", "tasks.jsonl", "--agent", "mock", "-o", "out", "-q", "--retry-failed"]
    assert command(tmp_path, *again).returncode == 0


@pytest.mark.clause("rollouts-run")
def test_file_that_cannot_be_written_is_told_before_the_turn(tmp_path: Path) -> None:
    for option in ("--atif", "--usage"):
        told = command(tmp_path, "run", "mock", "echo x", option, "missing/file.json")
        assert told.returncode == 2 and "missing/file.json" in told.stderr and told.stdout == ""


@pytest.mark.clause("rollouts-run")
def test_run_writes_trajectory_and_usage_also_of_a_failed_turn(tmp_path: Path) -> None:
    files = ["--atif", "atif.json", "--usage", "usage.json"]
    assert command(tmp_path, "run", "mock", "tool", "-q", *files).returncode == 0
    trajectory = json.loads((tmp_path / "atif.json").read_text())
    calls = [step for step in trajectory["steps"] if "tool_calls" in step]
    assert (
        calls[0]["observation"]["results"][0]["source_call_id"] == calls[0]["tool_calls"][0]["tool_call_id"]
    )
    usage = json.loads((tmp_path / "usage.json").read_text())
    assert usage["stop_reason"] == "end_turn" and usage["usage"]["totalTokens"] > 0
    late = command(tmp_path, "run", "mock", "hang", "-q", *files, "--timeout-s", "5")
    assert late.returncode == 124
    told = json.loads((tmp_path / "usage.json").read_text())
    assert told["stop_reason"] == "timeout" and told["usage"]["totalTokens"] > 0
    assert command(tmp_path, "run", "mock", "crash", "-q", *files).returncode == 1
    assert json.loads((tmp_path / "usage.json").read_text())["stop_reason"] == "failed"


@pytest.mark.clause("rollouts-run")
def test_run_ended_by_a_framework_writes_what_it_has_spent(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "sandbox_agent", "run", "mock", "hang", "-q", "--session", "s"]
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    run = subprocess.Popen([*words, "--usage", "usage.json"], cwd=tmp_path, env=environment)
    store = tmp_path / "data" / "sandbox-agent" / "conversations.db"
    wait_until(lambda: store.exists() and b"session/prompt" in _stored(store), 60, "the agent has the prompt")
    run.terminate()
    assert run.wait(60) == 130
    told = json.loads((tmp_path / "usage.json").read_text())
    assert told["stop_reason"] == "cancelled" and told["usage"]["totalTokens"] > 0


def _stored(store: Path) -> bytes:
    """The database and what its journal has beyond it."""
    files = [store, store.with_name(store.name + "-wal")]
    return b"".join(file.read_bytes() for file in files if file.exists())


@pytest.mark.clause("rollouts-run")
def test_model_address_needs_a_key_and_a_server_of_its_own(tmp_path: Path) -> None:
    address = ["--model-base-url", "http://127.0.0.1:1"]
    assert command(tmp_path, "run", "mock", "echo x", *address).returncode == 2
    other = [*address, "--model-key-env", "KEY", "-e", "http://127.0.0.1:1"]
    assert command(tmp_path, "run", "mock", "echo x", *other, KEY="k").returncode == 2
    done = command(tmp_path, "run", "mock", "echo x", *other[:4], "-q", KEY="k")
    assert done.stdout == "x\n" and "mock is not known to use --model-base-url" in done.stderr
    no_model = command(tmp_path, "run", "opencode", "hi", *address, "--model-key-env", "KEY", KEY="k")
    assert no_model.returncode == 2 and "needs --model with opencode" in no_model.stderr
    for half in (["--model-key-env", "KEY"], ["--model-base-url", "no-url", "--model-key-env", "KEY"]):
        assert command(tmp_path, "run", "mock", "echo x", *half, KEY="k").returncode == 2
