"""Agents of the agents file: a program that cannot be started, and how an agent is stopped."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.clients.acp import Acp
from tests.support.problems import assert_problem
from tests.support.processes import wait_until

pytestmark = [pytest.mark.ours]

# Answers one message and stays when its stdin ends; SIGTERM ends it.
SLOW_TO_EXIT = """#!/bin/sh
read -r line
printf '{"jsonrpc":"2.0","id":1,"result":{}}\\n'
sleep 600 >/dev/null 2>&1 &
wait
"""


def agents_file(directory: Path, command: str, **keys: str) -> list[str]:
    lines = [f'{key} = "{value}"' for key, value in {"command": command, **keys}.items()]
    file = directory / "agents.toml"
    file.write_text("\n".join(["[agents.mine]", *lines]))
    return ["--agents-file", str(file)]


@pytest.mark.clause("spec1-3.6-subprocess")
@pytest.mark.parametrize("preinstalled_only", ["0", "1"])
@pytest.mark.parametrize("fault", ["missing", "not executable", "directory", "not on PATH", "no interpreter"])
def test_a_program_that_cannot_be_started_is_reported_with_502(
    start_server, tmp_path: Path, fault: str, preinstalled_only: str
) -> None:
    program = tmp_path / "program"
    if fault == "not executable":
        program.write_text("#!/bin/sh\n")
    elif fault == "directory":
        program.mkdir()
    elif fault == "no interpreter":
        program.write_text("#!/nonexistent/interpreter\n")
        program.chmod(0o755)
    command = "no-such-program" if fault == "not on PATH" else str(program)
    server = start_server(
        arguments=agents_file(tmp_path, command),
        settings={"SANDBOX_AGENT_REQUIRE_PREINSTALL": preinstalled_only},
    )
    answer = server.acp.send("x", "initialize", agent="mine", timeout=20)
    assert_problem(answer, 502, "stream_error", "Stream Error")
    assert "failed to start agent process" in answer.json()["detail"]
    assert server.acp.entry("x") is None


@pytest.mark.clause("agents-stop-signal")
@pytest.mark.serial
def test_an_agent_with_a_stop_signal_is_not_waited_for(start_server, tmp_path: Path) -> None:
    program = tmp_path / "slow"
    program.write_text(SLOW_TO_EXIT)
    program.chmod(0o755)
    server = start_server(arguments=agents_file(tmp_path, str(program), stop_signal="SIGTERM"))
    acp: Acp = server.acp
    took = []
    for number in range(3):
        acp.call(f"x{number}", "go", request_id=1, agent="mine")
        began = time.monotonic()
        assert acp.delete(f"x{number}").status == 204
        took.append(time.monotonic() - began)
    # Without the key the server waits a second for the end of stdin to have an effect.
    assert sorted(took)[1] < 0.5, took
    wait_until(lambda: "sleep" not in str(server.marked_processes()), 5, "no process of the agents")
