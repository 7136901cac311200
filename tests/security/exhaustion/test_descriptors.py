"""The server outlives a lack of file descriptors: it refuses with an answer, and serves again afterwards."""

from __future__ import annotations

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.support.clients.raw_http import Answer, Connection
from tests.support.processes import open_descriptors, wait_until
from tests.support.server_process import ServerProcess, open_for_all_users, place_launcher

LIMIT = 128
SHELL_AGENT = """#!/bin/sh
read -r line
printf '{"jsonrpc":"2.0","id":1,"result":%s}\\n' "$(ulimit -n)"
exec cat >/dev/null
"""
REFUSED = "urn:sandbox-agent:error:out_of_descriptors"


def limited(soft: int, hard: int) -> list[str]:
    return ["prlimit", f"--nofile={soft}:{hard}"]


def is_refusal(answer: Answer) -> bool:
    if answer.status != 503:
        return False
    assert answer.json()["type"] == REFUSED
    assert int(answer.header("retry-after") or "0") >= 1
    assert answer.header("connection") == "close"
    return True


def health(server: ServerProcess, connection: Connection | None = None) -> Answer:
    if connection is None:
        return server.client.get("/v1/health", timeout=10)
    connection.send(server.client.build("GET", "/v1/health"))
    return connection.read_answer()


@contextmanager
def silent_connections(server: ServerProcess) -> Iterator[list[Connection]]:
    """As many connections without a request as the server lets in."""
    with ExitStack() as stack:
        connections: list[Connection] = []
        wait_until(
            lambda: (
                connections.append(stack.enter_context(server.client.connect(10)))
                or is_refusal(health(server))
            ),
            30,
            "a refusal",
        )
        yield connections


@contextmanager
def descriptors_left(server: ServerProcess, left: int) -> Iterator[None]:
    """Lower the limit of the server so that so many descriptors are left."""
    before = resource.prlimit(server.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(server.pid, resource.RLIMIT_NOFILE, (open_descriptors(server.pid) + left, before[1]))
    try:
        yield
    finally:
        resource.prlimit(server.pid, resource.RLIMIT_NOFILE, before)


def soft_limit(pid: int) -> int:
    return resource.prlimit(pid, resource.RLIMIT_NOFILE)[0]


@pytest.mark.clause("security-H1", "promise-Q")
@pytest.mark.parametrize("first", ["agent", "connections"])
def test_silent_connections_cannot_end_the_server(start_server, first: str) -> None:
    """A child that an agent left behind ends meanwhile: the server has to look at /proc."""
    server: ServerProcess = start_server(prefix=limited(LIMIT, LIMIT))
    with server.client.connect(20) as early, server.client.connect(20) as other:
        if first == "agent":
            server_id = server.acp.start()
            orphan = server.acp.call(server_id, "test/double_fork_clean_env")
        with silent_connections(server) as connections:
            assert len(connections) > LIMIT // 2
            if first == "connections":
                body = b'{"jsonrpc":"2.0","id":1,"method":"test/double_fork_clean_env","params":{}}'
                server_id = "late"
                headers = {"content-type": "application/json"}
                other.send(
                    server.client.build("POST", server.acp.path(server_id, "amp"), headers=headers, body=body)
                )
                orphan = other.read_answer().json()["result"]
            os.kill(orphan["pid"], signal.SIGKILL)
            for _ in range(20):
                assert health(server, early).status == 200
            assert server.process.poll() is None
        wait_until(lambda: health(server).status == 200, 10, "a server that lets clients in again")
        wait_until(lambda: not Path(f"/proc/{orphan['pid']}").exists(), 10, "the zombie is collected")
        assert server.acp.delete(server_id).status == 204


@pytest.mark.clause("security-H1")
@pytest.mark.parametrize("left", [0, 1, 3, 8])
@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
def test_without_descriptors_every_request_is_answered_and_afterwards_all_is_well(
    start_server, left: int, warm: bool
) -> None:
    server: ServerProcess = start_server()
    paths = ["/v1/health", "/v1/acp", "/v1/agents", "/v1/fs/entries", "/openapi.json", "/nowhere"]
    if warm:
        server.acp.start()
        for path in paths:
            server.client.get(path)
    with ExitStack() as stack:
        connections = [stack.enter_context(server.client.connect(20)) for _ in range(len(paths) + 1)]
        for connection in connections if warm else connections[:1]:
            assert health(server, connection).status == 200
        with descriptors_left(server, left):
            for path, connection in zip(paths, connections, strict=False):
                connection.send(server.client.build("GET", path))
                answer = connection.read_answer()
                assert answer.status in (200, 404, 502, 503), (path, answer.body)
            assert health(server, connections[-1]).status == 200
            for _ in range(12):
                assert health(server).status in (200, 503)
    assert health(server).status == 200
    assert server.client.get("/v1/agents", timeout=20).status == 200
    server.acp.call("again", "test/echo", agent="amp", timeout=20)


@pytest.mark.clause("security-M8")
def test_the_soft_limit_is_raised_and_agents_keep_the_original_one(start_server) -> None:
    server: ServerProcess = start_server(prefix=limited(64, 2048))
    assert soft_limit(server.pid) == 2048
    pid = server.acp.entry(server.acp.start())["pid"]  # type: ignore[index]
    assert soft_limit(pid) == 64
    assert "limits.unreachable" in server.log()
    assert "2048" in server.log()


@pytest.mark.clause("security-M8")
@pytest.mark.root
def test_agents_of_another_user_keep_the_original_limit_too(start_server, tmp_path: Path) -> None:
    """Without CAP_SYS_RESOURCE, as under Docker, the server cannot change limits of another user."""
    open_for_all_users(tmp_path)
    server: ServerProcess = start_server(
        prefix=["setpriv", "--bounding-set=-sys_resource", *limited(64, 2048)],
        arguments=["--agent-user", "nobody"],
    )
    place_launcher(server.data_home, "pi", SHELL_AGENT)
    open_for_all_users(server.data_home / "sandbox-agent" / "bin" / "agent_processes")
    assert server.acp.call("x", "limit", request_id=1, agent="pi") == 64


@pytest.mark.clause("security-M8")
def test_nothing_is_said_when_all_limits_can_be_reached(start_server) -> None:
    server: ServerProcess = start_server(
        prefix=limited(64, 2048), arguments=["--max-instances", "100", "--max-streams", "100"]
    )
    assert "limits.unreachable" not in server.log()
