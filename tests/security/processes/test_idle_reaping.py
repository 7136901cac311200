"""`--idle-timeout` closes unused instances and no others, independently of the wall clock."""

from __future__ import annotations

import time

import pytest

from tests.support.clients.acp import Acp
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess


def is_listed(acp: Acp, server_id: str) -> bool:
    return acp.entry(server_id) is not None


@pytest.mark.clause("http-idle-reaping")
def test_an_unused_instance_is_closed_and_its_id_is_a_closed_one(start_server) -> None:
    server: ServerProcess = start_server(arguments=["--idle-timeout", "1"])
    acp = server.acp
    server_id = acp.start()
    last = acp.entry(server_id)["lastEventId"]  # type: ignore[index]
    wait_until(lambda: not is_listed(acp, server_id), 10, "the end of the idle instance")
    assert acp.send(server_id, "test/echo").status == 404
    acp.start(server_id)
    assert acp.entry(server_id)["lastEventId"] > last, "numbers go on"  # type: ignore[index]


@pytest.mark.clause("http-idle-reaping")
def test_a_reader_a_waiting_call_and_traffic_each_keep_an_instance(start_server) -> None:
    server: ServerProcess = start_server(arguments=["--idle-timeout", "1"])
    acp = server.acp
    read, called, busy, idle = (acp.start() for _ in range(4))
    with acp.stream(read):
        waiting = acp.in_background(acp.send, called, "test/hold", request_id="held", timeout=60)
        deadline = time.monotonic() + 30
        while is_listed(acp, idle):
            acp.call(busy, "test/echo")
            assert time.monotonic() < deadline, "the idle one is never closed"
        assert all(is_listed(acp, one) for one in (read, called, busy))
    acp.notify(called, "test/release")
    assert waiting.result(10).status == 200


@pytest.mark.clause("promise-F-clock-jumps")
def test_a_jump_of_the_wall_clock_closes_nothing_and_times_nothing_out(start_server) -> None:
    server: ServerProcess = start_server(
        arguments=["--idle-timeout", "3600", "--acp-request-timeout-ms", "600000"]
    )
    acp = server.acp
    server_id = acp.start()
    pid = acp.entry(server_id)["pid"]  # type: ignore[index]
    waiting = acp.in_background(acp.send, server_id, "test/hold", request_id="held", timeout=60)
    acp.wait_until_pending(server_id, 1)
    for jump in (86_400 * 365, -86_400 * 365, 7200):
        server.set_clock_ahead(jump)
        assert acp.call(server_id, "test/echo", {"jump": jump})["echo"] == {"jump": jump}
        row = acp.entry(server_id)
        assert row is not None and row["pid"] == pid
        assert abs(row["lastActivityMs"] / 1000 - (time.time() + jump)) < 60, "the clock did jump"
    acp.notify(server_id, "test/release")
    assert waiting.result(10).status == 200
