"""The life cycle of a daemon; processes that are not the daemon are never signalled."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_agent.cli.daemon.process_identity import ProcessIdentity
from tests.cli.sandbox_directory import Result, SandboxDirectory
from tests.support.processes import wait_until
from tests.support.server_process import free_port

SECRET = "a-secret-of-the-daemon-tests"
HELLO = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'


class Daemon:
    def __init__(self, sandbox: SandboxDirectory) -> None:
        self.sandbox, self.port = sandbox, free_port()
        self.stem = sandbox.data / "daemon" / f"daemon-127-0-0-1-{self.port}"
        self.api = ("-e", f"http://127.0.0.1:{self.port}")

    def __call__(self, command: str, *words: str, **environment: str) -> Result:
        return self.sandbox.run("daemon", command, "-p", str(self.port), *words, environment=environment)

    def file(self, kind: str) -> Path:
        return self.stem.with_name(f"{self.stem.name}.{kind}")

    @property
    def pid(self) -> int:
        return int(self.file("pid").read_text().splitlines()[0])


@pytest.fixture
def daemon(sandbox: SandboxDirectory) -> Iterator[Daemon]:
    daemon = Daemon(sandbox)
    yield daemon
    daemon("stop")


@pytest.fixture
def unrelated_process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is not the daemon."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    yield process
    process.kill()
    process.wait()


@pytest.mark.clause("daemon-life")
def test_start_status_logs_and_stop(daemon: Daemon) -> None:
    assert daemon("status").code == 3
    assert "started" in daemon("start").good().out
    status = daemon("status").good().json
    assert status["status"] == "running"
    assert status["pid"] == daemon.pid
    assert status["version"] == daemon.file("version").read_text().strip()
    daemon.sandbox.run("api", "health", *daemon.api).good()
    assert "server.listening" in daemon("logs").good().out
    assert "stopped" in daemon("stop").good().out
    assert daemon("status").code == 3
    assert not daemon.file("pid").exists()
    assert "server.stopped" in daemon("logs", "--lines", "1").good().out
    assert "not running" in daemon("stop").good().out


@pytest.mark.clause("daemon-life")
def test_start_is_idempotent_also_when_many_start_at_once(daemon: Daemon) -> None:
    starters = [daemon.sandbox.open("daemon", "start", "-p", str(daemon.port)) for _ in range(4)]
    outputs = [starter.communicate(timeout=60) for starter in starters]
    assert [starter.returncode for starter in starters] == [0] * 4, outputs
    assert sorted(b"already" in out for out, _ in outputs) == [False, True, True, True]
    servers = [command for command in daemon.sandbox.processes().values() if " server " in command]
    assert len(servers) == 1


@pytest.mark.clause("credentials-stay-secret")
def test_the_token_is_in_a_private_file_and_nowhere_else(daemon: Daemon) -> None:
    daemon("start", SANDBOX_AGENT_TOKEN=SECRET).good()
    assert stat.S_IMODE(daemon.file("token").stat().st_mode) == 0o600
    assert stat.S_IMODE(daemon.file("log").stat().st_mode) == 0o600
    for pid in daemon.sandbox.processes():
        assert SECRET.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert SECRET.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    assert SECRET not in daemon("status").good().out + daemon("logs").good().out
    # The commands of this machine find it by themselves; others are refused.
    daemon.sandbox.run("api", "health", *daemon.api).good()
    assert daemon.sandbox.run("run", "mock", "echo hi", *daemon.api).good().out == "hi\n"
    assert daemon.sandbox.run("api", "health", "-n", *daemon.api).code == 1
    daemon("stop").good()
    assert not daemon.file("token").exists()


@pytest.mark.clause("daemon-life")
def test_stop_ends_the_agents_and_what_they_started(daemon: Daemon) -> None:
    daemon("start").good()
    post = ("api", "acp", "post", *daemon.api, "--server-id", "s")
    daemon.sandbox.run(*post, "--agent", "mock", "--json", HELLO).good()
    session = daemon.sandbox.run(
        *post,
        "--json",
        '{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}',
    ).good()
    prompt = {
        "sessionId": session.json["result"]["sessionId"],
        "prompt": [{"type": "text", "text": "child 600"}],
    }
    message = json.dumps({"jsonrpc": "2.0", "id": 3, "method": "session/prompt", "params": prompt})
    daemon.sandbox.run(*post, "--json", message).good()
    assert len(daemon.sandbox.processes()) >= 3
    daemon("stop").good()
    daemon.sandbox.wait_until_quiet()


@pytest.mark.clause("daemon-identity")
def test_a_stale_pid_file_never_hurts_another_process(
    daemon: Daemon, unrelated_process: subprocess.Popen[bytes]
) -> None:
    earlier_boot = ProcessIdentity(unrelated_process.pid, "another-boot/1")
    daemon.file("pid").parent.mkdir(parents=True)
    for text in (str(earlier_boot), f"{unrelated_process.pid}\n", "not a pid at all\n"):
        daemon.file("pid").write_text(text)
        assert daemon("status").code == 1
        assert "not running" in daemon("stop").good().out
        assert unrelated_process.poll() is None
        assert not daemon.file("pid").exists()
    daemon.file("pid").write_text(str(earlier_boot))
    assert "started" in daemon("start").good().out
    assert unrelated_process.poll() is None
    assert daemon.pid != unrelated_process.pid


@pytest.mark.clause("daemon-identity")
def test_a_killed_daemon_is_dead_and_can_be_started_again(daemon: Daemon) -> None:
    daemon("start").good()
    killed = ProcessIdentity.of(daemon.pid)
    assert killed is not None
    os.kill(killed.pid, signal.SIGKILL)
    wait_until(lambda: not killed.is_alive(), 5, "the end of the daemon")
    assert daemon("status").code == 1
    assert "started" in daemon("start").good().out
    assert daemon("status").good().json["pid"] == daemon.pid != killed.pid


@pytest.mark.clause("daemon-life")
def test_a_daemon_that_hangs_is_neither_running_nor_stopped(daemon: Daemon) -> None:
    daemon("start").good()
    os.kill(daemon.pid, signal.SIGSTOP)
    try:
        status = daemon("status")
        assert (status.code, status.json["status"]) == (4, "not answering")
    finally:
        os.kill(daemon.pid, signal.SIGCONT)


@pytest.mark.clause("daemon-real-failure")
def test_a_port_in_use_is_reported_in_words(daemon: Daemon) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", daemon.port))
        other.listen()
        result = daemon("start")
    assert result.code == 1
    assert f"cannot listen on 127.0.0.1:{daemon.port}" in result.err
    assert "in use" in result.err
    assert not daemon.file("pid").exists()
    assert daemon("status").code == 3


@pytest.mark.clause("daemon-real-failure")
@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--token-file", "no-such-file"), "cannot read the token file"),
        (("--token", " "), "the token is empty"),
        (("--fly",), "unknown argument '--fly'"),
        (("-H", "0.0.0.0"), "without a token"),
    ],
    ids=["token file", "empty token", "unknown option", "open to all"],
)
def test_a_mistake_in_the_options_starts_nothing(
    daemon: Daemon, words: tuple[str, ...], complaint: str
) -> None:
    result = daemon("start", *words)
    assert result.code == 2
    assert complaint in result.err
    assert not daemon.sandbox.processes()


def test_options_of_the_server_are_handed_on(daemon: Daemon) -> None:
    root = daemon.sandbox.home / "root"
    root.mkdir()
    daemon("start", "--fs-root", str(root)).good()
    refused = daemon.sandbox.run("api", "fs", "ls", "/", *daemon.api)
    assert json.loads(refused.err)["status"] == 403


@pytest.mark.clause("daemon-life")
def test_upgrade_replaces_a_daemon_of_another_version_only(daemon: Daemon) -> None:
    daemon("start").good()
    first = daemon.pid
    daemon("start", "--upgrade").good()
    assert daemon.pid == first
    daemon.file("version").write_text("0.0.1\n")
    assert "started" in daemon("start", "--upgrade").good().out
    assert daemon.pid != first


@pytest.mark.clause("daemon-life")
def test_logs_follow_what_is_written(daemon: Daemon) -> None:
    daemon("start").good()
    follower = daemon.sandbox.open("daemon", "logs", "-f", "-p", str(daemon.port))
    assert follower.stdout is not None
    assert b"server.listening" in follower.stdout.readline()
    daemon("stop").good()
    deadline = time.monotonic() + 20
    while b"server.stopped" not in follower.stdout.readline():
        assert time.monotonic() < deadline
    follower.send_signal(signal.SIGINT)
    follower.communicate(timeout=20)
    assert follower.returncode == 130


def test_logs_of_a_daemon_that_never_was(daemon: Daemon) -> None:
    result = daemon("logs")
    assert result.code == 1
    assert "no log yet" in result.err
