"""`rollouts()`: a row for each task, once; resume after kills; limits on what runs at a time."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent.rollouts import Result, Rollout, rollouts
from sandbox_agent.rollouts.batch import run_batch
from sandbox_agent.rollouts.output.output_directory import OutputInUseError, read_rows, run_name
from tests.support.polling import wait_until

ECHO = Rollout(agent="mock", keep=())
# Rows and sessions of rollouts that are done are not kept; the ids of 10,000 tasks take 2 MB. The first part
# that pyarrow writes takes 15 MB once, so the full run is measured from its second part on.
DRIVER_GROWTH_KB = 8 * 1024

MEASURED = """
import json, os, sys
from pathlib import Path
import pyarrow.parquet  # loaded before the first part is written
from sandbox_agent.rollouts import Rollout, rollouts

def resident_kb(_):
    memory.append(int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1024)

memory = []
tasks = ({"id": f"t{n}", "prompt": f"echo {n}"} for n in range(int(sys.argv[2])))
rollout = Rollout(agent="mock", keep=())
batch = rollouts(tasks, rollout, output=sys.argv[1], at_once=8, progress=False, on_result=resident_kb)
print(json.dumps([batch.tally.passed, memory[-1] - memory[int(sys.argv[3])]]))
"""

DRIVER = """
import sys
from sandbox_agent.rollouts import Rollout, rollouts
tasks = [{"id": f"t{n}", "prompt": "x"} for n in range(40)]
rollouts(tasks, Rollout(agent="mock", prompt="slow 150", keep=()), output=sys.argv[1], at_once=4)
"""


def tasks(count: int) -> list[dict[str, Any]]:
    return [{"id": f"t{number}", "prompt": f"echo {number}"} for number in range(count)]


def ids(output: Path) -> list[str]:
    return sorted(row["id"] for row in read_rows(output))


@pytest.mark.timeout(7200)
@pytest.mark.clause("rollouts-batch")
def test_every_task_has_one_row_and_the_driver_does_not_grow(tmp_path: Path, full_run: bool) -> None:
    count, settled = (10_000, 2_000) if full_run else (300, 100)
    output = tmp_path / "out"
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, str(output), str(count), str(settled)],
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    )
    passed, growth_kb = json.loads(done.stdout)
    assert passed == count
    texts = {row["id"]: row["text"] for row in read_rows(output)}
    assert texts == {f"t{number}": str(number) for number in range(count)}
    print(f"{count} rollouts, the driver has grown by {growth_kb} KB after the first {settled}")
    assert growth_kb < DRIVER_GROWTH_KB


@pytest.mark.clause("rollouts-batch")
def test_second_call_runs_only_what_is_new(tmp_path: Path) -> None:
    batch = rollouts(tasks(8), ECHO, output=tmp_path / "out", progress=False)
    assert (batch.tally.done, batch.tally.passed, batch.skipped) == (8, 8, 0)
    assert list((tmp_path / "out" / "parts").glob("*.parquet"))
    again = rollouts(tasks(10), ECHO, output=tmp_path / "out", progress=False)
    assert (again.tally.done, again.skipped) == (2, 8)


@pytest.mark.clause("rollouts-batch")
def test_a_call_in_which_nothing_ran_has_no_pass_rate_and_the_output_keeps_its_own(tmp_path: Path) -> None:
    half = Rollout(agent="mock", score=lambda sandbox, result: float(result.id == "t0"))
    for ran, rate in ((2, 0.5), (0, None)):
        batch = rollouts(tasks(2), half, output=tmp_path / "out", progress=False)
        assert (batch.tally.done, batch.tally.pass_rate) == (ran, rate)
        overall = batch.overall()
        assert (overall.done, overall.passed, overall.pass_rate) == (2, 1, 0.5)


@pytest.mark.clause("rollouts-resume")
def test_driver_killed_twice_leaves_every_row_once(tmp_path: Path) -> None:
    output = tmp_path / "out"
    journal = output / "journal.jsonl"
    mark = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "ROLLOUT_TEST": str(tmp_path)}
    for wanted in (5, 15):
        driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(output)], env={**os.environ, **mark})
        wait_until(lambda n=wanted: journal.exists() and journal.read_bytes().count(b"\n") >= n, 60, "rows")
        driver.send_signal(signal.SIGKILL)
        driver.wait()
        with journal.open("ab") as file:
            file.write(b'{"id": "t39", "text": "cut')  # what a crash in the middle of a write leaves
    wait_until(
        lambda: not _processes_with(str(tmp_path)), 20, "servers and agents of the killed drivers gone"
    )
    before = len(ids(output))
    assert 10 <= before < 40
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(output)], env={**os.environ, **mark}, timeout=120
    )
    assert done.returncode == 0
    assert ids(output) == sorted(f"t{number}" for number in range(40))
    rows = [row["id"] for part in sorted(output.glob("parts/*")) for row in _part(part)]
    assert max(Counter(rows).values()) == 1


def _part(path: Path) -> Iterator[dict[str, Any]]:
    from sandbox_agent.rollouts.output.parquet_parts import read_part

    return read_part(path)


def _processes_with(mark: str) -> list[int]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"ROLLOUT_TEST={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


@pytest.mark.clause("rollouts-resume")
def test_interrupt_ends_the_sandboxes_and_keeps_the_rows(tmp_path: Path) -> None:
    output = tmp_path / "out"
    mark = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data"), "ROLLOUT_TEST": str(tmp_path)}
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(output)], env={**os.environ, **mark}, stderr=subprocess.PIPE
    )
    journal = output / "journal.jsonl"
    wait_until(lambda: journal.exists() and journal.read_bytes().count(b"\n") >= 3, 60, "rows")
    driver.send_signal(signal.SIGINT)
    _, errors = driver.communicate(timeout=60)
    assert driver.returncode != 0 and b"KeyboardInterrupt" in errors
    wait_until(lambda: not _processes_with(str(tmp_path)), 20, "nothing runs any more")
    assert len(ids(output)) >= 3


@pytest.mark.clause("rollouts-batch")
def test_no_more_than_at_once_are_taken_from_the_source(tmp_path: Path) -> None:
    taken: list[str] = []
    ahead: list[int] = []

    def source() -> Iterator[dict[str, Any]]:
        for task in tasks(24):
            taken.append(task["id"])
            yield task

    rollouts(
        source(),
        ECHO,
        output=tmp_path / "out",
        at_once=3,
        progress=False,
        on_result=lambda _: ahead.append(len(taken) - len(ahead)),
    )
    assert len(ahead) == 24 and max(ahead) <= 3


@pytest.mark.clause("rollouts-batch")
def test_failures_are_rows_and_only_those_of_the_machinery_are_repeated(tmp_path: Path) -> None:
    prompts = [{"id": "crash", "prompt": "crash 3"}, {"id": "slow", "prompt": "hang"}, {"id": "no"}]
    rollout = Rollout(agent="mock", timeout_s=4.0, keep=())
    results: dict[str, Result] = {}
    batch = rollouts(
        prompts,
        rollout,
        output=tmp_path / "out",
        retries=1,
        progress=False,
        on_result=lambda result: results.__setitem__(result.id, result),
    )
    assert {key: (result.error_kind, result.attempt) for key, result in results.items()} == {
        "crash": ("agent", 2),
        "slow": ("timeout", 1),
        "no": ("task", 1),
    }
    assert batch.tally.failed == 3 and batch.tally.failures == {"agent": 1, "timeout": 1, "task": 1}
    again = rollouts(prompts, rollout, output=tmp_path / "out", retry_failed=True, progress=False)
    assert again.tally.done == 3


@pytest.mark.clause("rollouts-batch")
def test_shared_server_that_is_killed_is_started_again(tmp_path: Path) -> None:
    servers: list[str] = []

    def kill_the_first_server(result: Result) -> None:
        if not servers:
            os.kill(_server_on(str(result.sandbox).rpartition(":")[2]), signal.SIGKILL)
        servers.append(str(result.sandbox))

    batch = rollouts(
        tasks(12),
        ECHO,
        output=tmp_path,
        at_once=3,
        retries=2,
        progress=False,
        on_result=kill_the_first_server,
    )
    assert batch.tally.passed == 12, batch.tally
    assert len(set(servers)) == 2


def _server_on(port: str) -> int:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"server" in words and port.encode() in words:
                return int(entry.name)
    raise AssertionError(f"no server listens on {port}")


@pytest.mark.clause("rollouts-batch")
def test_shared_server_that_does_not_start_is_a_failed_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDBOX_AGENT_BIN", "/nowhere")
    batch = rollouts(tasks(3), ECHO, output=tmp_path, progress=False)
    assert batch.tally.failures == {"sandbox": 3}
    assert {row.error for row in batch.rows()} == {"there is no server program at /nowhere"}


@pytest.mark.clause("rollouts-batch")
def test_tasks_come_from_json_lines_and_parquet(tmp_path: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    lines = tmp_path / "tasks.jsonl"
    lines.write_text("\n".join(json.dumps({"name": f"n{number}", "prompt": "echo x"}) for number in range(3)))
    parquet.write_table(
        pyarrow.Table.from_pylist([{"name": "n3", "prompt": "echo y"}]), tmp_path / "tasks.parquet"
    )
    rollouts(lines, ECHO, output=tmp_path / "out", id="name", progress=False)
    rollouts(str(tmp_path / "tasks.parquet"), ECHO, output=tmp_path / "out", id="name", progress=False)
    assert ids(tmp_path / "out") == ["n0", "n1", "n2", "n3"]
    files = [{"id": "f1", "prompt": "read a", "files": {"a": "1"}}, {"id": "f2", "files": {"b": "2"}}]
    parquet.write_table(pyarrow.Table.from_pylist(files), tmp_path / "files.parquet")  # one column for both
    listed = Rollout(agent="mock", prompt="echo x", after=["ls"], keep=())
    with_files = rollouts(tmp_path / "files.parquet", listed, output=tmp_path / "files", progress=False)
    assert {row.id: row.outputs.get("ls") for row in with_files.rows()} == {"f1": "a\n", "f2": "b\n"}
    lines.write_text('{"prompt": "echo x"}\n[1]\n')
    with pytest.raises(ValueError, match="line 2"):
        rollouts(lines, ECHO, output=tmp_path / "other", progress=False)
    with pytest.raises(ValueError, match="two tasks have the id 'a'"):
        rollouts([{"id": "a"}, {"id": "a"}], ECHO, output=tmp_path / "third", progress=False)


@pytest.mark.clause("rollouts-batch")
async def test_two_batches_cannot_write_to_one_directory(tmp_path: Path) -> None:
    began = asyncio.Event()
    slow = [{"id": "1", "prompt": "echo 1"}, {"id": "2", "prompt": "slow 3000"}]
    first = asyncio.create_task(
        run_batch(slow, ECHO, output=tmp_path, progress=False, on_result=lambda _: began.set())
    )
    async with asyncio.timeout(60):
        await began.wait()
        with pytest.raises(OutputInUseError):
            await run_batch(tasks(1), ECHO, output=tmp_path, progress=False)
        first.cancel()
        await asyncio.wait([first])


@pytest.mark.clause("rollouts-batch")
async def test_blocking_form_in_an_event_loop_names_the_other(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="await run_batch"):
        rollouts(tasks(1), ECHO, output=tmp_path, progress=False)


def test_names_of_runs_stay_below_their_directory() -> None:
    names = [run_name(text) for text in ("a-1.b", "../x", "..", "a/b", "a_b", "x" * 300, "")]
    assert names[0] == "a-1.b" and len(set(names)) == len(names)
    assert all("/" not in name and not name.startswith(".") for name in names)
