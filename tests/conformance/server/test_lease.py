"""--lease-s: a server whose clients are gone ends itself, and its agents with it."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.support.clients.acp import JSON_HEADERS
from tests.support.processes import wait_until, wait_until_dead
from tests.support.server_process import ServerProcess

pytestmark = [
    pytest.mark.ours,
    pytest.mark.own_server("the end of the process belongs to the server command"),
]

LEASE_S = 1
LEASED = {"SANDBOX_AGENT_LEASE_S": str(LEASE_S)}
# The server looks eight times in a lease; the rest is for a machine under load.
PASSED_S = LEASE_S + 15

DRIVER = """
import sys, time
from sandbox_agent import SandboxAgent
client = SandboxAgent(sys.argv[1], sys.argv[2])
session = client.sessions.create("mock", directory="/")
print("ready", flush=True)
session.prompt("echo once")
time.sleep(600)
"""


@pytest.mark.clause("rollouts-lease")
def test_server_without_clients_ends_with_its_agents(start_server) -> None:
    server = start_server(settings=LEASED)
    server_id = server.acp.start()
    agent = server.acp.call(server_id, "test/info")
    assert server.wait_for_exit(PASSED_S) == 0
    wait_until_dead([agent], 5)
    assert "lease.expired" in server.log()


@pytest.mark.clause("rollouts-lease")
def test_health_probes_do_not_renew_the_lease(start_server) -> None:
    server = start_server(settings=LEASED)
    deadline = time.monotonic() + PASSED_S
    while server.process.poll() is None:
        assert time.monotonic() < deadline, "the server lives on health probes"
        try:
            server.client.get("/v1/health", timeout=2)
        except OSError:
            break
    assert server.wait_for_exit(5) == 0


def has_exited(server: ServerProcess, *, within_s: float) -> bool:
    try:
        server.wait_for_exit(within_s)
    except subprocess.TimeoutExpired:
        return False
    return True


@pytest.mark.clause("rollouts-lease")
@pytest.mark.parametrize(
    "request_of_a_stranger",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /ui/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /v1/agents HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"OPTIONS /v1/agents HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n",
    ],
    ids=["index", "page", "refused", "OPTIONS", "unfinished"],
)
def test_requests_without_the_token_do_not_renew_the_lease(
    start_server, request_of_a_stranger: bytes
) -> None:
    """An agent in the sandbox can send them too."""
    server = start_server(settings=LEASED)
    deadline = time.monotonic() + PASSED_S
    connections = []
    while not has_exited(server, within_s=0.1):
        assert time.monotonic() < deadline, "the server lives on requests of strangers"
        try:
            connections.append(server.client.connect(2))
            connections[-1].send(request_of_a_stranger)
        except OSError:
            break
    for connection in connections:
        connection.close()
    assert server.wait_for_exit(5) == 0


@pytest.mark.clause("rollouts-lease")
def test_messages_renew_the_lease_also_on_one_connection(start_server) -> None:
    server = start_server(settings=LEASED)
    server_id = server.acp.start()
    connection = server.client.connect()
    body = b'{"jsonrpc":"2.0","id":%d,"method":"test/echo"}'
    deadline = time.monotonic() + 3 * LEASE_S
    number = 100
    while time.monotonic() < deadline:
        number += 1
        path = server.acp.path(server_id)
        connection.send(server.client.build("POST", path, headers=JSON_HEADERS, body=body % number))
        assert connection.read_answer().status == 200
    connection.close()
    assert server.process.poll() is None
    assert server.wait_for_exit(PASSED_S) == 0


@pytest.mark.clause("rollouts-lease")
def test_open_stream_and_waiting_request_renew_the_lease_until_the_client_leaves(start_server) -> None:
    server = start_server(settings={**LEASED, "SANDBOX_AGENT_ACP_HEARTBEAT_MS": "200"})
    server_id = server.acp.start()
    stream = server.acp.stream(server_id)
    stream.take(1)
    assert stream.has_nothing_for(2 * LEASE_S)
    assert server.process.poll() is None
    waiting = server.acp.open_post(server_id, b'{"jsonrpc":"2.0","id":"w","method":"test/silent"}')
    stream.close()
    server.acp.wait_until_pending(server_id, 1)
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(2 * LEASE_S)
    waiting.close()
    assert server.wait_for_exit(PASSED_S) == 0


@pytest.mark.clause("rollouts-lease")
def test_reader_with_a_share_does_not_renew_the_lease(start_server) -> None:
    """A page that was left open would keep the sandbox for as long as the share is valid."""
    server = start_server(settings={**LEASED, "SANDBOX_AGENT_ACP_HEARTBEAT_MS": "200"})
    server_id = server.acp.start()
    path = server.acp.path(server_id)
    made = server.client.request("POST", f"{path}/shares", headers=JSON_HEADERS, body=b"{}").json()
    ticket = {"authorization": f"Bearer {made['ticket']}"}
    with server.client.connect() as connection:
        connection.send(server.client.build("GET", path, headers=ticket))
        assert connection.read_head()[0] == 200
        assert server.wait_for_exit(PASSED_S) == 0


@pytest.mark.clause("rollouts-lease")
def test_stream_whose_client_takes_nothing_does_not_renew_the_lease(start_server) -> None:
    """The client's machine is gone without a word: its kernel acknowledges nothing more."""
    server = start_server(settings={**LEASED, "SANDBOX_AGENT_ACP_HEARTBEAT_MS": "100"})
    server_id = server.acp.start()
    connection = server.client.connect(receive_buffer=1)
    connection.send(server.client.build("GET", server.acp.path(server_id)))
    server.acp.notify(server_id, "test/flood", {"count": 3000, "size": 4000})
    # Nothing is read, so the window of the receiver closes.
    assert server.wait_for_exit(PASSED_S) == 0
    connection.close()


@pytest.mark.clause("rollouts-lease")
def test_time_in_which_the_server_was_stopped_does_not_count(start_server) -> None:
    server = start_server(settings=LEASED)
    server.signal(signal.SIGSTOP)
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(2 * LEASE_S)
    server.signal(signal.SIGCONT)
    assert server.client.get("/v1/acp").status == 200
    assert server.wait_for_exit(PASSED_S) == 0


@pytest.mark.clause("rollouts-lease")
def test_killed_driver_leaves_neither_server_nor_agent(start_server) -> None:
    server = start_server(settings=LEASED)
    url = f"http://127.0.0.1:{server.port}"
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, url, server.token], stdout=subprocess.PIPE, env=server.environment
    )
    assert driver.stdout is not None
    deadline = time.monotonic() + 40
    while not select.select([driver.stdout], [], [], 0.2)[0]:  # its start may take longer than the lease
        assert time.monotonic() < deadline, "the driver did not start"
        server.acp.list()
    assert driver.stdout.readline() == b"ready\n"
    assert len(server.marked_processes()) > 1
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(2 * LEASE_S)  # its stream is a sign of life
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    assert server.wait_for_exit(PASSED_S) == 0
    wait_until(lambda: not server.marked_processes(), 5, "no agent left")


@pytest.mark.clause("rollouts-lease")
def test_without_the_setting_a_server_waits_for_ever(start_server) -> None:
    server = start_server()
    with pytest.raises(subprocess.TimeoutExpired):
        server.process.wait(LEASE_S)
    with socket.create_connection(("127.0.0.1", server.port), 5):
        assert server.process.poll() is None
