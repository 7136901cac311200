"""Run: a command to its end, its output, its time-out, and a client that leaves."""

from __future__ import annotations

import json
import time

import pytest

from tests.conformance.conftest import Target
from tests.support.clients.process_api import JSON, Processes
from tests.support.processes import wait_until


@pytest.mark.clause("processes-wire")
def test_exit_code_and_both_streams_are_returned(processes: Processes) -> None:
    answer = processes.run("echo out; echo err >&2; exit 3")
    assert list(answer) == [
        *("exitCode", "timedOut", "stdout", "stderr", "stdoutTruncated", "stderrTruncated", "durationMs")
    ]
    assert (answer["exitCode"], answer["timedOut"]) == (3, False)
    assert (answer["stdout"], answer["stderr"]) == ("out\n", "err\n")
    assert processes.ok("GET", "")["processes"] == []


@pytest.mark.clause("processes-wire")
def test_a_command_that_is_killed_has_no_exit_code(processes: Processes) -> None:
    assert processes.run("kill -15 $$")["exitCode"] is None


@pytest.mark.clause("processes-wire")
def test_the_input_of_a_run_is_at_its_end(processes: Processes) -> None:
    assert processes.run("wc -c")["stdout"].strip() == "0"


@pytest.mark.clause("processes-wire")
def test_output_is_cut_and_the_rest_does_not_block(processes: Processes) -> None:
    answer = processes.run("yes | head -c 5000000; echo done >&2", maxOutputBytes=1001)
    assert (len(answer["stdout"]), answer["stdoutTruncated"]) == (1001, True)
    assert (answer["stderr"], answer["stderrTruncated"]) == ("done\n", False)
    assert processes.run("echo x", maxOutputBytes=0)["stdout"] == ""
    processes.set_config(maxOutputBytes=10)
    assert len(processes.run("yes | head -c 100", maxOutputBytes=50)["stdout"]) == 10


@pytest.mark.clause("processes-wire")
def test_what_is_not_utf8_is_replaced(processes: Processes) -> None:
    assert processes.run(r"printf 'a\377b\0\r'")["stdout"] == "a\ufffdb\0\r"


@pytest.mark.clause("processes-run-ends")
@pytest.mark.defect("D8")
def test_the_time_out_ends_the_whole_tree(processes: Processes, target: Target) -> None:
    began = time.monotonic()
    answer = processes.run("echo early; sleep 600 & sleep 600", timeoutMs=300)
    assert (answer["timedOut"], answer["exitCode"], answer["stdout"]) == (True, None, "early\n")
    assert time.monotonic() - began < 8
    wait_until(lambda: not sleeping(target), 5, "no process of the run")


@pytest.mark.clause("processes-run-ends")
@pytest.mark.defect("D9")
def test_a_background_process_does_not_delay_the_answer_and_does_not_stay(
    processes: Processes, target: Target
) -> None:
    began = time.monotonic()
    answer = processes.run("sleep 600 & echo done", timeoutMs=60_000)
    assert (answer["timedOut"], answer["stdout"]) == (False, "done\n")
    assert time.monotonic() - began < 8
    wait_until(lambda: not sleeping(target), 5, "no process of the run")


@pytest.mark.clause("processes-run-ends")
@pytest.mark.defect("D10")
def test_a_client_that_leaves_ends_its_run(processes: Processes, target: Target) -> None:
    body = json.dumps({"command": "sh", "args": ["-c", "sleep 600 & sleep 601"]}).encode()
    with processes.client.connect() as connection:
        connection.send(processes.client.build("POST", "/v1/processes/run", headers=JSON, body=body))
        wait_until(lambda: len(sleeping(target)) == 2, 5, "the run")
    wait_until(lambda: not sleeping(target), 5, "no process of the run")


@pytest.mark.clause("processes-wire")
def test_the_time_out_has_a_default_and_an_upper_bound(processes: Processes) -> None:
    processes.set_config(defaultRunTimeoutMs=200, maxRunTimeoutMs=400)
    for wanted in ({}, {"timeoutMs": 0}, {"timeoutMs": None}, {"timeoutMs": 60_000}):
        assert processes.run("sleep 600", **wanted)["timedOut"] is True


def sleeping(target: Target) -> list[str]:
    assert target.process is not None
    return [line for line in target.process.marked_processes().values() if line.startswith("sleep 60")]
