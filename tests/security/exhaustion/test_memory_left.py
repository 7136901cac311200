"""What is left in memory after abuse, and after the last instance: close to what an idle server needs."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.security.exhaustion import abuse
from tests.security.exhaustion.abuse import Attacker
from tests.support.clients.acp import AGENT
from tests.support.processes import resident_bytes, wait_until
from tests.support.server_process import ServerProcess

MIB = 1 << 20
LEFT = 16 * MIB
RETURNED_WITHIN_S = 10


def back_to(server: ServerProcess, before: int) -> None:
    try:
        wait_until(lambda: resident_bytes(server.pid) - before <= LEFT, RETURNED_WITHIN_S, "")
    except AssertionError:
        left = (resident_bytes(server.pid) - before) / MIB
        raise AssertionError(f"{left:.1f} MB are left after {RETURNED_WITHIN_S} s") from None


def warm(server: ServerProcess) -> int:
    """Load what the first requests load; returns the memory of the server at rest."""
    for path in ("/v1/health", "/v1/agents", "/v1/nowhere"):
        server.client.get(path)
    server.client.get("/v1/health", authorized=False)
    return resident_bytes(server.pid)


@pytest.mark.clause("security-H5", "security-L9")
@pytest.mark.parametrize("kind", abuse.KINDS, ids=lambda kind: kind.__name__)
@pytest.mark.timeout(240)
def test_abuse_without_a_token_leaves_no_memory_behind(start_server, kind, full_run: bool) -> None:
    """Twice in each run; for a minute with --full, in which garbage of one round may become old."""
    server: ServerProcess = start_server()
    before = warm(server)
    attacker = Attacker(server.port, 400)
    end = time.monotonic() + (60 if full_run else 0)
    rounds = 0
    while rounds < 2 or time.monotonic() < end:
        kind(attacker)
        rounds += 1
    assert server.client.get("/v1/health", timeout=30).status == 200
    back_to(server, before)


@pytest.mark.clause("security-H5")
def test_idle_connections_hold_nothing_of_a_refused_head(start_server) -> None:
    server: ServerProcess = start_server()
    before = warm(server)
    head = (
        b"POST /v1/acp/x HTTP/1.1\r\nHost: localhost\r\nX: "
        + abuse.PADDING
        + b"\r\nContent-Length: 0\r\n\r\n"
    )
    with Attacker(server.port, 1000).open() as sockets:
        for sock in sockets:
            sock.sendall(head)
            assert sock.recv(4096).startswith(b"HTTP/1.1 401 ")
        back_to(server, before)


@pytest.mark.clause("security-L9")
def test_the_memory_of_closed_instances_is_returned(start_server) -> None:
    server: ServerProcess = start_server(arguments=["--spill-max-bytes", "0"])
    acp = server.acp
    acp.call("warm", "test/echo", agent=AGENT)
    assert acp.delete("warm").status == 204
    before = warm(server)
    names = [f"n{number}" for number in range(12)]
    for name in names:
        acp.call(name, "test/flood", {"count": 8000, "size": 1000}, agent=AGENT, timeout=60)
        with acp.stream(name) as stream:
            stream.take(8000, timeout=60)
    assert resident_bytes(server.pid) - before > 60 * MIB, "the events are in memory"
    for name in names:
        assert acp.delete(name, timeout=20).status == 204
    back_to(server, before)


@pytest.mark.clause("security-L9")
@pytest.mark.parametrize("room_mb", [20, 40, 70, 120])
@pytest.mark.parametrize("kind", ["answer", "notification"])
def test_a_line_without_memory_for_it_is_answered(start_server, room_mb: int, kind: str) -> None:
    server: ServerProcess = start_server()
    server_id = server.acp.start()
    server.client.get("/v1/agents")
    for warm_up in ({"bytes": 100_000, "as_answer": True}, {"bytes": 5_000_000, "as_answer": True}):
        assert server.acp.send(server_id, "test/big_line", warm_up, timeout=30).status == 200
    with address_space(server, room_mb * MIB):
        line = {"bytes": 30_000_000, "as_answer": kind == "answer"}
        answer = server.acp.send(server_id, "test/big_line", line, timeout=30)
        assert answer.status in (200, 502), answer.body[:300]
        assert server.acp.send(server_id, "test/echo", timeout=30).status == 200
        assert server.client.get("/v1/health", timeout=30).status == 200
    assert server.acp.send(server_id, "test/big_line", line, timeout=30).status == 200


@contextmanager
def address_space(server: ServerProcess, room: int) -> Iterator[None]:
    """Limit the address space of the server to `room` more than it has now."""
    size = int(Path(f"/proc/{server.pid}/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.prlimit(server.pid, resource.RLIMIT_AS)
    resource.prlimit(server.pid, resource.RLIMIT_AS, (size + room, before[1]))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_AS, before)
