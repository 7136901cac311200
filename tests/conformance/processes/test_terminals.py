"""Terminals over the WebSocket: handshake, output, input, replay, close codes, slow clients."""

from __future__ import annotations

import json
import time
from base64 import b64encode, urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.process_api import Processes
from tests.support.processes import wait_until

HANDSHAKE = {
    "connection": "Upgrade",
    "upgrade": "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
}
RAW = "stty raw -echo; echo ready; exec cat"


@pytest.mark.clause("processes-wire", "processes-exit")
@pytest.mark.defect("D11")
def test_ready_comes_first_and_exit_after_the_last_output(processes: Processes) -> None:
    process = processes.shell("echo hello; read line; echo bye; exit 5", tty=True)
    with processes.terminal(process) as terminal:
        terminal.read()
        assert terminal.frames == [{"processId": process, "type": "ready"}]
        terminal.type("\n")
        terminal.read_to_end()
    exit = terminal.frames[-1]
    assert (exit["type"], exit["exitCode"]) == ("exit", 5)
    assert bytes(terminal.output).endswith(b"bye\r\n")
    assert b"stream error" not in terminal.output and b"stream error" not in processes.output(process)


@pytest.mark.clause("terminals-replay")
@pytest.mark.defect("D12")
def test_a_socket_that_is_opened_later_sees_what_was_before(processes: Processes) -> None:
    process = processes.shell("echo first; read line; echo second", tty=True)
    processes.wait_for_output(process, b"first")
    with processes.terminal(process) as terminal:
        terminal.wait_for(b"first\r\n")
        terminal.type("\n")
        terminal.read_to_end()
    assert terminal.output.count(b"first") == 1 and b"second" in terminal.output
    with processes.terminal(process) as again:
        again.read_to_end()
    assert again.output == terminal.output and again.frames[-1]["type"] == "exit"


@pytest.mark.clause("terminals-replay")
@pytest.mark.defect("D12")
def test_output_is_replayed_from_a_number_on(processes: Processes) -> None:
    process = processes.shell("echo one; read a; echo two; read b; echo three", tty=True)
    with processes.terminal(process, "?since=0") as terminal:
        terminal.wait_for(b"one\r\n")
        reached = terminal.wait_for_frame("sequence")["sequence"]
        terminal.type("\n")
        terminal.wait_for(b"two\r\n")
    with processes.terminal(process, f"?since={reached}") as again:
        again.wait_for(b"two\r\n")
        assert b"one" not in again.output
        assert again.frames[0]["sequence"] >= reached
        again.type("\n")
        again.read_to_end()
    assert b"".join([b"one\r\n", bytes(again.output)]) == processes.output(process)
    last = [frame["sequence"] for frame in again.frames if frame["type"] == "sequence"][-1]
    assert last == processes.ok("GET", f"/{process}/logs?tail=1")["entries"][0]["sequence"]


@pytest.mark.ours
@pytest.mark.clause("terminals-replay", "processes-gaps")
def test_what_is_not_kept_is_told_before_the_replay(start_server) -> None:
    settings = {"SANDBOX_AGENT_SPILL_MAX_BYTES": "0", "SANDBOX_AGENT_PROCESS_LOG_BYTES": "100000"}
    processes = Processes(start_server(settings=settings).client)
    process = processes.shell("seq 1 100000", tty=True)
    processes.wait_for_exit(process)
    with processes.terminal(process, "?since=0") as terminal:
        terminal.read_to_end()
    assert [frame["type"] for frame in terminal.frames][:2] == ["ready", "gap"]
    assert terminal.output.endswith(b"100000\r\n")


@pytest.mark.clause("processes-wire")
def test_every_byte_passes_both_ways(processes: Processes) -> None:
    process = processes.shell(RAW, tty=True)
    everything = bytes(range(256))
    with processes.terminal(process) as terminal:
        terminal.wait_for(b"ready")
        terminal.send(type="input", data=b64encode(everything).decode(), encoding="base64")
        terminal.wait_for(everything)
        terminal.send(type="input", data="äöü 🙂", encoding="utf8")
        terminal.wait_for("äöü 🙂".encode())
        for number in range(500):
            terminal.type(f"<{number}>")
        terminal.wait_for(b"".join(b"<%d>" % number for number in range(500)))


@pytest.mark.clause("processes-wire")
@pytest.mark.defect("D28")
def test_the_size_can_be_set_by_both_ways(processes: Processes) -> None:
    process = processes.shell("trap 'stty size' WINCH; echo ready; while :; do sleep 0.05; done", tty=True)
    with processes.terminal(process) as terminal:
        terminal.wait_for(b"ready")
        terminal.send(type="resize", cols=100, rows=33)
        terminal.wait_for(b"33 100")
        size = {"cols": 120, "rows": 40}
        assert processes.ok("POST", f"/{process}/terminal/resize", size) == size
        terminal.wait_for(b"40 120")
    for wrong in ({"cols": 0, "rows": 0}, {"cols": 65536, "rows": 1}, {"cols": "1", "rows": 1}, {}):
        assert processes.request("POST", f"/{process}/terminal/resize", wrong).status == 400
    processes.ok("POST", f"/{process}/kill")
    assert processes.request("POST", f"/{process}/terminal/resize", size).status == 409
    pipes = processes.create("cat")
    assert processes.request("POST", f"/{pipes}/terminal/resize", size).status == 409


@pytest.mark.clause("processes-wire")
def test_a_bad_frame_is_told_and_changes_nothing(processes: Processes) -> None:
    process = processes.shell(RAW, tty=True)
    bad: list[str | bytes] = [
        b"binary",
        "{",
        "{}",
        '{"type":"nope"}',
        '{"type":"input"}',
        '{"type":"input","data":5}',
        '{"type":"input","data":"x","encoding":"hex"}',
        '{"type":"input","data":"x","encoding":"base64"}',
        '{"type":"resize","cols":65536,"rows":1}',
        json.dumps({"type": "input", "data": "x" * 65537}),
    ]
    with processes.terminal(process) as terminal:
        terminal.wait_for(b"ready")
        for frame in bad:
            terminal.socket.send(frame)
        terminal.type("fine")
        terminal.wait_for(b"fine")
        while sum(frame["type"] == "error" for frame in terminal.frames) < len(bad):
            assert terminal.read()
        assert all(isinstance(frame["message"], str) for frame in terminal.frames if frame["type"] == "error")


@pytest.mark.clause("terminals-close")
@pytest.mark.defect("D16")
def test_closing_a_socket_is_answered_and_leaves_the_process(processes: Processes) -> None:
    process = processes.shell(RAW, tty=True)
    with processes.terminal(process) as terminal:
        terminal.wait_for(b"ready")
        terminal.send(type="close")
        terminal.read_to_end()
    with processes.terminal(process) as terminal:
        terminal.wait_for_frame("ready")
        terminal.socket.close(1000)
        assert terminal.socket.protocol.close_rcvd is not None
    assert processes.info(process)["status"] == "running"


@pytest.mark.clause("terminals-close")
@pytest.mark.defect("D16")
@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (b"\xf1\x80\0\0\0\0", 1002),  # reserved bits
        (b"\x83\x80\0\0\0\0", 1002),  # an unknown opcode
        (b"\x81\x81\0\0\0\0\xff", 1007),  # not UTF-8
    ],
)
def test_a_fault_of_the_protocol_is_told_in_a_close_frame(
    processes: Processes, frame: bytes, code: int
) -> None:
    process = processes.create("cat", tty=True)
    with processes.terminal(process) as terminal:
        terminal.wait_for_frame("ready")
        terminal.socket.socket.sendall(frame)
        terminal.read_to_end()
        received = terminal.socket.protocol.close_rcvd
    assert received is not None and received.code == code
    assert processes.info(process)["status"] == "running"


@pytest.mark.clause("processes-wire")
def test_all_sockets_of_a_terminal_see_everything(processes: Processes) -> None:
    process = processes.shell("echo ready; exec cat", tty=True)
    with processes.terminal(process) as one, processes.terminal(process) as two:
        one.wait_for(b"ready")
        two.wait_for(b"ready")
        one.type("hello\n")
        one.wait_for(b"hello\r\nhello\r\n")
        two.wait_for(b"hello\r\nhello\r\n")


@pytest.mark.clause("terminals-access")
@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ("", {}, 401),
        ("?access_token=wrong", {}, 401),
        ("?token=secret-of-the-tests", {}, 401),
        ("", {"authorization": "Bearer wrong"}, 401),
    ],
)
def test_a_handshake_without_the_token_is_refused(
    processes: Processes, query: str, headers: dict[str, str], status: int
) -> None:
    process = processes.create("cat", tty=True)
    assert refusal(processes, process, query, headers) == status


@pytest.mark.clause("terminals-access")
@pytest.mark.defect("D25")
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"host": "evil.example"}, 421),
        ({"sec-fetch-site": "cross-site"}, 403),
    ],
)
def test_a_handshake_of_another_site_is_refused(
    processes: Processes, headers: dict[str, str], status: int
) -> None:
    process = processes.create("cat", tty=True)
    assert refusal(processes, process, "?access_token=secret-of-the-tests", headers) == status


@pytest.mark.clause("terminals-access")
@pytest.mark.parametrize("way", ["header", "query", "both", "subprotocol", "same origin"])
def test_one_right_token_opens_a_terminal(processes: Processes, way: str) -> None:
    process = processes.create("cat", tty=True)
    token = processes.client.token or ""
    bearer = "bearer." + urlsafe_b64encode(token.encode()).decode().rstrip("=")
    options: dict[str, dict[str, Any]] = {
        "header": {"headers": {"authorization": f"Bearer {token}"}},
        "query": {"headers": {"authorization": ""}, "query": f"?access_token={token}"},
        "both": {"headers": {"authorization": "Bearer wrong"}, "query": f"?access_token={token}"},
        "subprotocol": {"headers": {"authorization": ""}, "subprotocols": [bearer]},
        "same origin": {"headers": {"origin": f"http://{processes.client.authority}"}},
    }
    with processes.terminal(process, **options[way]) as terminal:
        assert terminal.wait_for_frame("ready")["processId"] == process
        assert terminal.socket.subprotocol == (bearer if way == "subprotocol" else None)


@pytest.mark.own_server("the log of requests belongs to the server command")
@pytest.mark.clause("terminals-log")
@pytest.mark.defect("D23")
def test_the_token_and_tickets_in_an_address_are_not_logged(start_server, tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    settings = {
        "SANDBOX_AGENT_LOG_HTTP": "1",
        "SANDBOX_AGENT_LOG_HTTP_HEADERS": "1",
        "SANDBOX_AGENT_LOG_DIR": str(logs),
    }
    server = start_server(settings=settings)

    def logged() -> str:
        return server.log() + "".join(path.read_text() for path in logs.rglob("*") if path.is_file())

    processes = Processes(server.client)
    process = processes.create("cat", tty=True)
    address = f"/v1/processes/{process}/terminal/ws"

    def is_not_logged(query: str, secret: str) -> None:
        with processes.terminal(process, f"?{query}={secret}", headers={"authorization": ""}) as terminal:
            terminal.wait_for_frame("ready")
        wait_until(lambda: address in logged(), 10, "the request in the log")
        assert secret not in logged()

    is_not_logged("access_token", server.token)
    is_not_logged("ticket", processes.ok("POST", f"/{process}/terminal/ticket")["ticket"])
    assert refusal(processes, process, "?access_token=a-wrong-secret", {}) == 401
    assert "a-wrong-secret" not in logged()


@pytest.mark.ours
@pytest.mark.clause("terminals-ticket")
def test_a_ticket_opens_one_terminal_once(processes: Processes) -> None:
    process, other = processes.create("cat", tty=True), processes.create("cat", tty=True)
    path = f"/{process}/terminal/ticket"
    made = processes.ok("POST", path)
    assert made["expiresInMs"] == 30_000
    without = {"authorization": ""}
    with processes.terminal(process, f"?ticket={made['ticket']}", headers=without) as terminal:
        terminal.wait_for_frame("ready")
    assert refusal(processes, process, f"?ticket={made['ticket']}", {}) == 401
    for_other = processes.ok("POST", path)["ticket"]
    assert refusal(processes, other, f"?ticket={for_other}", {}) == 401
    assert processes.request("POST", path, authorized=False).status == 401
    pipes = processes.create("cat")
    assert processes.request("POST", f"/{pipes}/terminal/ticket").status == 409
    answer = processes.client.get(
        f"/v1/processes?ticket={processes.ok('POST', path)['ticket']}", authorized=False
    )
    assert answer.status == 401


@pytest.mark.clause("processes-faults")
def test_the_order_of_refusals_is_token_id_terminal(processes: Processes) -> None:
    pipes = processes.create("cat")
    authorized = processes.client.auth()
    assert refusal(processes, "proc_999999", "", {}) == 401
    assert refusal(processes, "proc_999999", "", authorized) == 404
    assert refusal(processes, pipes, "", authorized) == 409


def refusal(processes: Processes, process: str, query: str, headers: dict[str, str]) -> int:
    """The status of a refused handshake, which is a problem document."""
    path = f"/v1/processes/{process}/terminal/ws{query}"
    answer = processes.client.get(path, headers={**HANDSHAKE, **headers}, authorized=False)
    assert answer.header("content-type") == "application/problem+json"
    assert answer.json()["status"] == answer.status
    return answer.status


@pytest.mark.clause("processes-input-waits")
@pytest.mark.defect("D1")
def test_a_terminal_that_does_not_read_blocks_nothing_else(processes: Processes) -> None:
    process = processes.shell("stty raw -echo; echo ready; while :; do sleep 0.2; echo tick; done", tty=True)
    with processes.terminal(process) as terminal:
        terminal.wait_for(b"ready")
        for _ in range(10):
            terminal.type("x" * 60_000)
        began = time.monotonic()
        terminal.output.clear()
        terminal.wait_for(b"tick")
        assert terminal.socket.ping().wait(10)
        assert processes.info(process)["status"] == "running"
        assert processes.ok("GET", "")["processes"]
        assert time.monotonic() - began < 10
    assert processes.ok("POST", f"/{process}/kill")["status"] == "exited"
    wait_until(lambda: processes.info(process)["status"] == "exited", 5, "the exit")


@pytest.mark.clause("processes-slow-readers")
@pytest.mark.defect("D5")
def test_a_socket_that_pauses_loses_nothing(processes: Processes, full_run: bool) -> None:
    size = 100_000_000 if full_run else 10_000_000
    process = processes.shell(f"stty raw; read line; head -c {size} /dev/zero | tr '\\0' x", tty=True)
    with processes.terminal(process, max_queue=1) as terminal:
        terminal.wait_for_frame("ready")
        terminal.type("\n")
        processes.wait_for_exit(process)  # The socket takes nothing until the process has written all.
        terminal.read_to_end()
    assert terminal.output.count(b"x") == size
    assert terminal.frames[-1]["type"] == "exit"


@pytest.mark.clause("processes-many")
def test_many_terminals_at_once(processes: Processes, full_run: bool) -> None:
    count = 50 if full_run else 15
    started = [processes.shell("echo ready; exec cat", tty=True) for _ in range(count)]
    for number, process in enumerate(started):
        with processes.terminal(process) as terminal:
            terminal.wait_for(b"ready")
            terminal.type(f"hello {number}\n")
            terminal.wait_for(b"hello %d\r\nhello %d\r\n" % (number, number))
