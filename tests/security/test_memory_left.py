"""What is left in memory after abuse, and after the last instance: close to what an idle server needs."""

from __future__ import annotations

import time

import pytest

from tests.security import abuse
from tests.security.abuse import Attacker
from tests.support.acp import AGENT
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
    back_to(server, before)
    assert server.client.get("/v1/health").status == 200


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
