"""Input of processes: bytes, encodings, limits, programs that do not read, the end of input."""

from __future__ import annotations

import json
from base64 import b64encode

import pytest

from tests.support.clients.process_api import JSON, Processes
from tests.support.problems import assert_problem
from tests.support.processes import wait_until


def send(processes: Processes, process: str, body: dict[str, object]) -> int:
    written: int = processes.ok("POST", f"/{process}/input", body)["bytesWritten"]
    return written


@pytest.mark.clause("processes-wire")
def test_every_byte_arrives_as_it_is(processes: Processes) -> None:
    process = processes.create("cat")
    everything = bytes(range(256))
    assert send(processes, process, {"data": b64encode(everything).decode()}) == 256
    assert send(processes, process, {"data": "äöü\n", "encoding": "utf8"}) == 7
    processes.wait_for_output(process, everything + "äöü\n".encode())


@pytest.mark.clause("processes-wire")
def test_empty_input_is_nothing_and_not_the_end(processes: Processes) -> None:
    process = processes.create("cat")
    assert send(processes, process, {"data": ""}) == 0
    send(processes, process, {"data": "on\n", "encoding": "text"})
    processes.wait_for_output(process, b"on\n")


@pytest.mark.clause("processes-stdin-end")
@pytest.mark.defect("D18")
def test_the_input_can_be_closed(processes: Processes) -> None:
    process = processes.create("sort")
    send(processes, process, {"data": "b\na\n", "encoding": "text"})
    send(processes, process, {"close": True})
    assert processes.wait_for_exit(process)["exitCode"] == 0
    assert processes.output(process) == b"a\nb\n"
    terminal = processes.create("cat", tty=True)
    assert_problem(processes.request("POST", f"/{terminal}/input", {"close": True}), 409, "conflict")


@pytest.mark.clause("processes-faults")
@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"data": "x"}, 400, "invalid_request"),
        ({"data": "YQ== "}, 400, "invalid_request"),
        ({"data": "YQ"}, 400, "invalid_request"),
        ({"data": "_-__"}, 400, "invalid_request"),
        ({"data": "eA==", "encoding": "hex"}, 400, "invalid_request"),
        ({"data": 5}, 400, "invalid_request"),
        ({"data": "x" * 65537, "encoding": "text"}, 413, "payload_too_large"),
    ],
)
def test_wrong_input_is_a_problem(
    processes: Processes, body: dict[str, object], status: int, kind: str
) -> None:
    process = processes.create("cat")
    assert_problem(processes.request("POST", f"/{process}/input", body), status, kind)


@pytest.mark.clause("processes-faults")
def test_input_to_what_does_not_read_any_more_is_409(processes: Processes) -> None:
    exited = processes.shell("exit 0")
    processes.wait_for_exit(exited)
    body = {"data": "x", "encoding": "text"}
    assert_problem(processes.request("POST", f"/{exited}/input", body), 409, "conflict")
    closed = processes.shell("exec <&-; echo closed; exec sleep 606")
    processes.wait_for_output(closed, b"closed")
    assert_problem(processes.request("POST", f"/{closed}/input", body), 409, "conflict")


@pytest.mark.clause("processes-input-waits")
@pytest.mark.defect("D2")
@pytest.mark.parametrize("tty", [False, True])
def test_input_that_waits_blocks_nothing_and_can_be_given_up(processes: Processes, tty: bool) -> None:
    process = processes.shell("stty raw -echo 2>/dev/null; echo ready; read line; exec sleep 607", tty=tty)
    processes.wait_for_output(process, b"ready")
    body = json.dumps({"data": "x" * 60000 + "\n", "encoding": "text"}).encode()
    path = f"/v1/processes/{process}/input"
    waiting = []
    for _ in range(8):
        connection = processes.client.connect()
        connection.send(processes.client.build("POST", path, headers=JSON, body=body))
        waiting.append(connection)
    assert processes.info(process)["status"] == "running"
    assert len(processes.ok("GET", "")["processes"]) == 1
    for connection in waiting:
        connection.close()
    assert processes.ok("POST", f"/{process}/stop?waitMs=100")["id"] == process
    assert processes.ok("POST", f"/{process}/kill")["status"] == "exited"


@pytest.mark.clause("processes-input-waits")
def test_input_that_was_given_up_is_not_written_later(processes: Processes) -> None:
    process = processes.shell("echo ready; read go; cat | wc -c")
    processes.wait_for_output(process, b"ready")
    body = json.dumps({"data": "x" * 60000, "encoding": "text"}).encode()
    path = f"/v1/processes/{process}/input"
    # Fills the pipe, which holds 64 KiB: of the second one a part stays behind.
    send(processes, process, {"data": "x" * 60000, "encoding": "text"})
    with processes.client.connect() as connection:
        connection.send(processes.client.build("POST", path, headers=JSON, body=body))
        wait_until(lambda: processes.info(process)["status"] == "running", 5, "the server")
    # The line is read, then everything that was written.
    if processes.request("POST", f"/{process}/input", {"data": "\n", "encoding": "text"}).status == 200:
        processes.request("POST", f"/{process}/input", {"close": True})
        processes.wait_for_exit(process)
        assert int(processes.output(process).split()[-1]) < 120_000
