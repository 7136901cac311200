"""An install under way: the instance is `starting`, can be watched and closed at once.

A program named `npm` that waits for ever stands in for a slow download of an agent that is not there yet.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.acp import Acp, message
from tests.support.problems import assert_problem
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.ours
AGENT = "codex"
FAKE_NPM = """#!/bin/sh
echo "$$" >> "{pids}"
{then}
"""


class SlowServer:
    def __init__(self, start_server: Callable[..., ServerProcess], directory: Path, then: str) -> None:
        self.pids = directory / "npm-pids"
        programs = directory / "programs"
        programs.mkdir()
        npm = programs / "npm"
        npm.write_text(FAKE_NPM.format(pids=self.pids, then=then))
        npm.chmod(0o755)
        settings = {"PATH": f"{programs}:/usr/bin:/bin", "SANDBOX_AGENT_REQUIRE_PREINSTALL": "0"}
        self.process = start_server(settings=settings)
        self.acp: Acp = self.process.acp

    def installing(self) -> list[int]:
        return [int(line) for line in self.pids.read_text().split()] if self.pids.exists() else []

    def wait_for_the_installer(self) -> None:
        wait_until(self.installing, 10, "an installer")

    def wait_until_the_installer_is_gone(self) -> None:
        wait_until(
            lambda: not set(self.installing()) & set(self.process.marked_processes()),
            5,
            "the installer's end",
        )


@pytest.fixture
def slow(start_server: Callable[..., ServerProcess], tmp_path: Path) -> SlowServer:
    return SlowServer(start_server, tmp_path, "exec sleep 600")


@pytest.mark.clause("spec1-3.2-lazy-install", "spec1-8-lazy", "decision-20")
def test_an_instance_that_is_being_installed_is_starting_and_has_no_pid(slow: SlowServer) -> None:
    first = slow.acp.in_background(slow.acp.send, "x", "initialize", agent=AGENT)
    slow.wait_for_the_installer()
    row = slow.acp.entry("x")
    assert row is not None
    assert (row["status"], row["pid"], row["lastEventId"]) == ("starting", None, 0)
    assert_problem(slow.acp.send("x", "initialize", agent="mock"), 409, "conflict")
    slow.acp.delete("x")
    first.result(5)


@pytest.mark.clause("spec1-3.2-lazy-install", "security-M3")
def test_an_installer_and_its_orphans_go_on_when_an_agent_ends(
    start_server: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    """They are children of the server in other sessions, as processes that an agent has left behind are."""
    orphan = tmp_path / "orphan"
    then = f"(setsid sh -c 'echo $$ >> {orphan}; exec sleep 600' &)\nexec sleep 600"
    server = SlowServer(start_server, tmp_path, then)
    other = server.acp.start()
    first = server.acp.in_background(server.acp.send, "x", "initialize", agent=AGENT)
    wait_until(lambda: orphan.exists() and orphan.read_text(), 10, "an orphan of the installer")
    assert server.acp.delete(other).status == 204
    alive = server.process.marked_processes()
    assert {*server.installing(), int(orphan.read_text())} <= set(alive), alive
    server.acp.delete("x")
    first.result(5)


@pytest.mark.serial
@pytest.mark.clause("decision-3", "promise-I")
def test_delete_during_an_install_is_quick_and_releases_all_waiting_requests(slow: SlowServer) -> None:
    posts = [
        slow.acp.in_background(slow.acp.post, "x", message("initialize", request_id=n), agent=AGENT)
        for n in range(3)
    ]
    slow.wait_for_the_installer()
    began = time.monotonic()
    assert slow.acp.delete("x").status == 204
    assert time.monotonic() - began < 1.5
    assert {post.result(3).status for post in posts} == {502}
    assert slow.acp.entry("x") is None
    assert slow.acp.delete("x").status == 204


def test_a_stream_opened_during_an_install_waits_and_ends_with_it(slow: SlowServer) -> None:
    post = slow.acp.in_background(slow.acp.send, "x", "initialize", agent=AGENT)
    slow.wait_for_the_installer()
    with slow.acp.stream("x") as stream:
        assert stream.has_nothing_for(0.2)
        slow.acp.delete("x")
        assert stream.read_to_the_clean_end() == []
    post.result(5)


@pytest.mark.clause("spec1-3.2-lazy-install", "promise-I")
def test_ten_first_posts_of_one_agent_install_it_once(slow: SlowServer) -> None:
    posts = [slow.acp.in_background(slow.acp.send, f"x{n}", "initialize", agent=AGENT) for n in range(10)]
    slow.wait_for_the_installer()
    wait_until(lambda: len(slow.acp.list()) == 10, 5, "ten instances")
    assert len(slow.installing()) == 1
    for number in range(10):
        assert slow.acp.delete(f"x{number}").status == 204
    assert {post.result(5).status for post in posts} == {502}


@pytest.mark.clause("spec1-3.2-lazy-install")
def test_a_failed_install_is_500_with_the_reason_and_leaves_nothing(
    start_server: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    broken = SlowServer(start_server, tmp_path, "echo 'no space left on moon' >&2; exit 1")
    problem = assert_problem(
        broken.acp.send("x", "initialize", agent=AGENT, timeout=20), 500, "install_failed", "Install Failed"
    )
    assert problem["detail"] == f"install failed: {AGENT}"
    assert problem["agent"] == AGENT
    assert "no space left on moon" in problem["details"]["stderr"]
    assert broken.acp.entry("x") is None
    assert broken.acp.delete("x").status == 404


def test_a_stream_opened_during_an_install_that_fails_ends_and_the_id_stays_unknown(
    start_server: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    go_on = tmp_path / "go-on"
    slow = SlowServer(start_server, tmp_path, f'while [ ! -e "{go_on}" ]; do sleep 0.05; done; exit 1')
    post = slow.acp.in_background(slow.acp.send, "x", "initialize", agent=AGENT, timeout=20)
    slow.wait_for_the_installer()
    with slow.acp.stream("x") as stream:
        go_on.touch()
        assert stream.read_to_the_clean_end(timeout=15) == []
    assert post.result(15).status == 500
    assert_problem(slow.acp.send("x", "initialize"), 400, "invalid_request")
    assert slow.acp.delete("x").status == 404


@pytest.mark.own_server("signals and the end of the process belong to the process that runs the application")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_installing_stops_in_time(slow: SlowServer, number: signal.Signals) -> None:
    post = slow.acp.in_background(slow.acp.send, "x", "initialize", agent=AGENT)
    slow.wait_for_the_installer()
    began = slow.process.signal(number)
    assert slow.process.wait_for_exit(6) == 0
    assert time.monotonic() - began < 4
    assert post.exception(5) is not None or post.result(5).status in (502, 503)
    slow.wait_until_the_installer_is_gone()


@pytest.mark.clause("install-dies-with-the-server")
def test_the_end_of_a_killed_server_ends_its_installer(slow: SlowServer) -> None:
    slow.acp.in_background(slow.acp.send, "x", "initialize", agent=AGENT)
    slow.wait_for_the_installer()
    slow.process.signal(signal.SIGKILL)
    slow.process.wait_for_exit(5)
    slow.wait_until_the_installer_is_gone()
