"""Logs of processes: entries, filters, following, gaps, slow readers."""

from __future__ import annotations

import sys
import time
from base64 import b64decode
from typing import Any

import pytest

from tests.support.clients.process_api import Processes, output_of, parse_events
from tests.support.polling import wait_until
from tests.support.problems import assert_problem

# The pauses let the server read each byte by itself.
ONE_BYTE_AT_A_TIME = "import os, time\nfor _ in range(2000):\n    os.write(1, b'x')\n    time.sleep(0.0005)"


@pytest.mark.clause("processes-wire")
def test_entries_have_numbers_streams_and_bytes(processes: Processes) -> None:
    process = processes.shell("printf one; printf two >&2")
    processes.wait_for_exit(process)
    logs = processes.ok("GET", f"/{process}/logs")
    assert (logs["processId"], logs["stream"]) == (process, "combined")
    assert [entry["sequence"] for entry in logs["entries"]] == [1, 2]
    assert list(logs["entries"][0]) == ["sequence", "stream", "timestampMs", "data", "encoding"]
    by_stream = {entry["stream"]: b64decode(entry["data"]) for entry in logs["entries"]}
    assert by_stream == {"stdout": b"one", "stderr": b"two"}
    assert processes.output(process, "?stream=stderr") == b"two"
    assert processes.output(process, "?tail=1") == b64decode(logs["entries"][1]["data"])
    assert processes.output(process, "?tail=0") == b""
    assert processes.output(process, "?since=1") == b64decode(logs["entries"][1]["data"])
    answer = processes.request("GET", f"/{process}/logs", headers={"last-event-id": "1"})
    assert [entry["sequence"] for entry in answer.json()["entries"]] == [2]
    answer = processes.request("GET", f"/{process}/logs", headers={"last-event-id": "x"})
    assert_problem(answer, 400, "invalid_request")


@pytest.mark.clause("processes-wire")
@pytest.mark.defect("D28")
def test_a_terminal_has_one_stream_which_is_everything(processes: Processes) -> None:
    process = processes.shell("echo out; echo err >&2", tty=True)
    processes.wait_for_exit(process)
    logs = processes.ok("GET", f"/{process}/logs")
    assert logs["stream"] == "pty" and {entry["stream"] for entry in logs["entries"]} == {"pty"}
    assert processes.output(process) == b"out\r\nerr\r\n"
    assert processes.output(process, "?stream=combined") == b"out\r\nerr\r\n"
    assert processes.output(process, "?stream=stdout") == b""


@pytest.mark.clause("processes-exit")
def test_all_output_is_there_when_the_exit_is(processes: Processes) -> None:
    for tty in (False, True):
        for _ in range(10):
            process = processes.shell("printf '%3000s' end", tty=tty)
            events = processes.follow(process)
            assert len(output_of(events)) == 3000 and events[-1][0] == "exit"


@pytest.mark.clause("processes-exit")
@pytest.mark.defect("D13")
def test_a_process_that_is_shown_as_exited_has_all_its_output_in_the_log(processes: Processes) -> None:
    for _ in range(40):
        process = processes.shell("printf '%3000s' end", tty=True)
        deadline = time.monotonic() + 20
        while processes.info(process)["status"] == "running":  # without a pause, which would hide it
            assert time.monotonic() < deadline
        assert len(processes.output(process)) == 3000
        processes.ok("POST", f"/{process}/kill")
        assert processes.request("DELETE", f"/{process}").status == 204


@pytest.mark.clause("processes-follow-ends")
@pytest.mark.defect("D6")
def test_following_ends_at_the_exit_and_tells_it(processes: Processes) -> None:
    process = processes.shell("echo one; read line; echo two; exit 7")
    processes.wait_for_output(process, b"one")
    with processes.client.connect() as connection:
        path = f"/v1/processes/{process}/logs?follow=true"
        connection.send(processes.client.build("GET", path))
        connection.read_until(b"b25lCg==")
        processes.ok("POST", f"/{process}/input", {"data": "\n", "encoding": "text"})
        rest = connection.read_until(b"0\r\n\r\n")
    assert b"dHdvCg==" in rest and b"event: exit" in rest and b'"exitCode":7' in rest
    events = processes.follow(process)
    assert [name for name, _ in events] == ["log", "log", "exit"]
    assert events[-1][1] == {"exitCode": 7, "signal": None}


@pytest.mark.clause("processes-follow-ends")
def test_following_ends_when_the_process_is_deleted(processes: Processes) -> None:
    process = processes.shell("sleep 608 & exit 0")
    processes.wait_for_exit(process)
    assert processes.request("DELETE", f"/{process}").status == 204
    assert_problem(processes.request("GET", f"/{process}/logs?follow=true"), 404, "not_found")


@pytest.mark.clause("processes-wire")
def test_head_of_a_followed_log_ends_at_once(processes: Processes) -> None:
    process = processes.create("cat")
    answer = processes.request("HEAD", f"/{process}/logs?follow=true")
    assert (answer.status, answer.header("content-type")) == (200, "text/event-stream")


@pytest.mark.clause("processes-follow-since")
@pytest.mark.defect("D17")
def test_following_from_a_number_that_is_not_reached_skips_up_to_it(processes: Processes) -> None:
    process = processes.shell("read line; for i in 1 2 3 4; do echo $i; sleep 0.05; done")
    with processes.client.connect() as connection:
        path = f"/v1/processes/{process}/logs?follow=true&since=3"
        connection.send(processes.client.build("GET", path))
        connection.read_until(b"\r\n\r\n")
        processes.ok("POST", f"/{process}/input", {"data": "\n", "encoding": "text"})
        body = b"".join(iter(connection.read_chunk, b""))
    numbers = [data["sequence"] for name, data in parse_events(body) if name == "log"]
    assert numbers and min(numbers) == 4


@pytest.mark.clause("processes-follow-since")
def test_a_filter_and_a_tail_apply_to_a_followed_log(processes: Processes) -> None:
    process = processes.shell("echo a; sleep 0.1; echo b >&2; sleep 0.1; echo c")
    processes.wait_for_exit(process)
    assert output_of(processes.follow(process, "&stream=stderr")) == b"b\n"
    assert output_of(processes.follow(process, "&tail=1")) == b"c\n"
    assert output_of(processes.follow(process, "&tail=0")) == b""
    assert output_of(processes.follow(process, "&since=1")) == b"b\nc\n"


@pytest.mark.clause("processes-gaps")
@pytest.mark.defect("D19")
def test_what_has_left_the_memory_is_told_and_followed_from_disk(processes: Processes) -> None:
    processes.set_config(maxLogBytesPerProcess=100_000)
    process = processes.shell("seq 1 200000")
    processes.wait_for_exit(process)

    def on_disk() -> Any:  # entries stay in memory until they are written
        logs = processes.ok("GET", f"/{process}/logs?since=0")
        return logs if "gap" in logs else None

    logs = wait_until(on_disk, 20, "the beginning of the log on disk")
    first = logs["entries"][0]["sequence"]
    assert first > 1 and logs["gap"] == {"oldest": first, "newest": logs["entries"][-1]["sequence"]}
    everything = output_of(processes.follow(process))
    assert everything == b"".join(b"%d\n" % number for number in range(1, 200001))
    in_memory = b"".join(b64decode(entry["data"]) for entry in logs["entries"])
    assert output_of(processes.follow(process, f"&since={first - 1}")) == in_memory


@pytest.mark.ours
@pytest.mark.clause("processes-gaps")
def test_what_is_not_kept_at_all_is_a_gap(start_server) -> None:
    settings = {"SANDBOX_AGENT_SPILL_MAX_BYTES": "0", "SANDBOX_AGENT_PROCESS_LOG_BYTES": "100000"}
    processes = Processes(start_server(settings=settings).client)
    process = processes.shell("seq 1 200000")
    processes.wait_for_exit(process)
    events = processes.follow(process, "&since=0")
    assert events[0][0] == "gap" and events[0][1]["oldest"] == events[1][1]["sequence"] > 1
    assert output_of(events).endswith(b"200000\n")


@pytest.mark.clause("processes-small-log")
@pytest.mark.defect("D27")
def test_a_log_limit_below_one_read_keeps_the_newest_entry(processes: Processes) -> None:
    processes.set_config(maxLogBytesPerProcess=1000)
    process = processes.shell("printf '%8000s' end")
    processes.wait_for_exit(process)
    assert processes.output(process).endswith(b"end")


@pytest.mark.clause("processes-log-limit")
@pytest.mark.defect("D15")
def test_the_limit_of_a_log_counts_what_many_small_entries_take(processes: Processes) -> None:
    limit = 60_000
    processes.set_config(maxLogBytesPerProcess=limit)
    process = processes.create(sys.executable, "-c", ONE_BYTE_AT_A_TIME)
    assert processes.wait_for_exit(process)["exitCode"] == 0
    answer = processes.request("GET", f"/{process}/logs")
    assert answer.status == 200
    assert len(answer.json()["entries"]) > 100 and len(answer.body) < 1.2 * limit


@pytest.mark.clause("processes-slow-readers")
@pytest.mark.defect("D4")
def test_a_reader_that_pauses_loses_nothing(processes: Processes, full_run: bool) -> None:
    size = 100_000_000 if full_run else 15_000_000
    process = processes.shell(f"read line; head -c {size} /dev/zero | tr '\\0' x")
    with processes.client.connect(60, receive_buffer=65536) as connection:
        path = f"/v1/processes/{process}/logs?follow=true"
        connection.send(processes.client.build("GET", path))
        connection.read_until(b"\r\n\r\n")
        processes.ok("POST", f"/{process}/input", {"data": "\n", "encoding": "text"})
        processes.wait_for_exit(process)  # The reader takes nothing until the process has written all.
        body = b"".join(iter(connection.read_chunk, b""))
    assert len(output_of(parse_events(body))) == size
