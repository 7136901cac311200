"""Starting and refusing to start: every refusal says why and has the right exit code."""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

import pytest

from tests.support.server_process import bare_environment, free_port, server_command

pytestmark = pytest.mark.own_server(
    "the command line, its exit codes and its messages belong to the server command"
)


def run(arguments: list[str], home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*server_command(), *arguments],
        capture_output=True,
        text=True,
        timeout=8,
        check=False,
        env={**bare_environment(home), **environment},
    )


@pytest.mark.clause("decision-23", "promise-J")
def test_another_address_without_a_token_needs_no_token_said_aloud(tmp_path: Path) -> None:
    done = run(["server", "--host", "0.0.0.0", "--port", str(free_port())], tmp_path)
    assert done.returncode == 2
    assert "--no-token" in done.stderr


@pytest.mark.clause("cli-exit-codes")
@pytest.mark.parametrize("arguments", [["--token", ""], ["--token-file", "/dev/null"]])
def test_an_empty_token_is_refused(tmp_path: Path, arguments: list[str]) -> None:
    done = run(["server", "--port", str(free_port()), *arguments], tmp_path)
    assert done.returncode == 2
    assert "token" in done.stderr


def test_a_missing_token_file_is_refused(tmp_path: Path) -> None:
    done = run(["server", "--port", str(free_port()), "--token-file", str(tmp_path / "none")], tmp_path)
    assert done.returncode in (1, 2)
    assert "none" in done.stderr


@pytest.mark.clause("cli-exit-codes")
def test_a_port_in_use_is_exit_1_and_said_on_stderr(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = run(["server", "--no-token", "--port", port], tmp_path)
    assert done.returncode == 1
    assert port in done.stderr


@pytest.mark.clause("cli-exit-codes")
@pytest.mark.parametrize("host", ["not a host", "256.1.1.1", "192.0.2.1"])
def test_an_address_that_cannot_be_bound_is_exit_1_and_said_on_stderr(tmp_path: Path, host: str) -> None:
    done = run(["server", "--no-token", "--host", host, "--port", str(free_port())], tmp_path)
    assert done.returncode == 1
    assert host in done.stderr


@pytest.mark.clause("cli-exit-codes")
@pytest.mark.parametrize(
    "arguments",
    [
        ["server", "--port", "x"],
        ["server", "--port", "70000"],
        ["server", "--no-such-flag"],
        ["no-such-command"],
        [],
    ],
)
def test_a_usage_error_is_exit_2_with_help_on_stderr(tmp_path: Path, arguments: list[str]) -> None:
    done = run(arguments, tmp_path)
    assert done.returncode == 2
    assert done.stderr.strip()
    assert "Traceback" not in done.stderr


@pytest.mark.clause("cli-exit-codes")
@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["server", "--help"], ["--version"], ["-V"]])
def test_help_and_version_are_exit_0(tmp_path: Path, arguments: list[str]) -> None:
    done = run(arguments, tmp_path)
    assert done.returncode == 0
    assert done.stdout.strip()


def test_a_server_without_a_token_on_loopback_says_so(start_server) -> None:
    server = start_server(token=None)
    assert "token" in server.log().lower()


@pytest.mark.clause("cli-settings")
@pytest.mark.ours
def test_settings_are_flags_too(start_server) -> None:
    arguments = ["--acp-request-timeout-ms", "500", "--acp-heartbeat-ms", "100", "--max-instances", "5"]
    arguments += ["--replay-max-events", "10", "--spill-max-bytes", "0", "--max-streams", "2"]
    arguments += ["--replay-max-bytes", "100000", "--max-body-bytes", "100000", "--log-level", "debug"]
    arguments += [
        "--acp-early-header-ms",
        "9000",
        "--acp-early-header-interval-ms",
        "900",
        "--log-format",
        "json",
    ]
    acp = start_server(arguments=arguments).acp
    server_id = acp.start()
    assert acp.send(server_id, "test/silent").status == 504
    with acp.stream(server_id) as stream:
        stream.next_message()
        assert stream.next().kind == "heartbeat"


def test_port_0_takes_a_free_port_and_says_which(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*server_command(), "server", "--no-token", "--port", "0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=bare_environment(tmp_path),
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "127.0.0.1:" in line:
                port = int("".join(c for c in line.split("127.0.0.1:")[1][:5] if c.isdigit()))
                assert port > 0
                with socket.create_connection(("127.0.0.1", port), timeout=5):
                    break
        else:
            pytest.fail("the port was never said")
    finally:
        process.terminate()
        process.wait(6)
        if process.stderr is not None:
            process.stderr.close()
