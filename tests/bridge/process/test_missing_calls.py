"""Agents and files work where a sandbox does not have the newer system calls, as in older gVisor."""

from __future__ import annotations

import builtins
import os
import signal
import subprocess
from typing import Any

import pytest

from sandbox_agent.bridge.process.tree import process_table
from sandbox_agent.cli.daemon.process_identity import ProcessIdentity
from tests.support.grown_tree import grow_tree
from tests.support.machine.without_calls import without_calls
from tests.support.processes import wait_until, wait_until_dead, zombies_of
from tests.support.server_process import ServerProcess

CALLS = ("pidfd_open", "pidfd_send_signal", "openat2", "copy_file_range")
pytestmark = pytest.mark.process


@pytest.fixture(params=["ENOSYS", "EPERM"])
def server(request: pytest.FixtureRequest, start_server) -> ServerProcess:
    refused = without_calls(*(f"{name}={request.param}" for name in CALLS))
    server: ServerProcess = start_server(prefix=refused)
    return server


@pytest.mark.clause("missing-system-calls")
def test_agents_start_answer_and_end_with_their_trees(server: ServerProcess) -> None:
    acp = server.acp
    server_id = acp.start()
    people = grow_tree(acp, server_id, stubborn=True)
    assert acp.delete(server_id).status == 204
    wait_until_dead(people, 5)
    wait_until(lambda: not zombies_of(server.pid), 5, "no zombie")


@pytest.mark.clause("missing-system-calls")
def test_the_exit_of_an_agent_is_noticed_at_once(server: ServerProcess) -> None:
    acp = server.acp
    answer = acp.send(acp.start(), "test/kill_self")
    assert answer.status == 502 and answer.json()["details"]["signal"] == "SIGKILL", answer.body


@pytest.mark.clause("missing-system-calls")
def test_the_watchdog_ends_the_trees_of_a_killed_server(server: ServerProcess) -> None:
    people = grow_tree(server.acp, server.acp.start(), stubborn=True)
    server.signal(signal.SIGKILL)
    server.wait_for_exit(5)
    wait_until_dead(people, 5)


@pytest.mark.clause("missing-system-calls")
def test_files_are_written_read_moved_and_deleted(start_server, tmp_path) -> None:
    (tmp_path / "files").mkdir()
    server: ServerProcess = start_server(
        arguments=["--fs-root", str(tmp_path / "files")],
        prefix=without_calls(*(f"{name}=ENOSYS" for name in CALLS)),
    )
    content = os.urandom(300_000)
    url = "/v1/fs/file?path=one.bin"
    octets = {"content-type": "application/octet-stream"}
    assert server.client.request("PUT", url, headers=octets, body=content).status == 200
    assert server.client.get(url).body == content
    moved = server.client.request(
        "POST",
        "/v1/fs/move",
        headers={"content-type": "application/json"},
        body=b'{"from":"one.bin","to":"two.bin"}',
    )
    assert moved.status == 200, moved.body
    assert server.client.get("/v1/fs/file?path=two.bin").body == content
    assert server.client.request("DELETE", "/v1/fs/entry?path=two.bin").status == 200
    assert os.listdir(tmp_path / "files") == []


@pytest.fixture
def child() -> Any:
    process = subprocess.Popen(["/bin/sleep", "600"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.clause("missing-system-calls")
def test_children_are_found_without_the_list_of_the_kernel(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def open_without_list(path: Any, *args: Any, **options: Any) -> Any:
        if str(path).endswith("/children"):
            raise FileNotFoundError(path)
        return real_open(path, *args, **options)

    assert child.pid in process_table.own_children()
    assert child.pid in process_table.adopted_children()
    real_open = builtins.open
    monkeypatch.setattr(builtins, "open", open_without_list)
    assert child.pid in process_table.own_children()
    assert child.pid in process_table.adopted_children()


@pytest.mark.clause("missing-system-calls")
def test_a_daemon_is_signalled_without_a_pidfd(
    child: subprocess.Popen[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(pid: int) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "pidfd_open", refused)
    identity = ProcessIdentity.of(child.pid)
    assert identity is not None
    ProcessIdentity(child.pid, identity.started + "0").send(signal.SIGKILL)
    assert child.poll() is None, "another process of the same id is not hit"
    identity.send(signal.SIGTERM)
    assert child.wait(5) == -signal.SIGTERM
