"""The server loads asyncio only when a request needs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

import sandbox_agent

HEAVY = ("asyncio",)
PROGRAM = "from sandbox_agent.cli.main import main; main(['server', '--port', '0', '--no-token'])"
INITIALIZE = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    home = str(Path(sandbox_agent.__file__ or "").parent.parent)
    command = [sys.executable, "-X", "importtime", "-c", PROGRAM]
    env = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path), "PYTHONPATH": home}
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


@pytest.mark.clause("performance-start-up")
def test_up_to_the_first_answer_of_an_agent_nothing_heavy_is_loaded(server: subprocess.Popen[str]) -> None:
    loaded: list[str] = []

    def read_until(event: str) -> str:
        assert server.stderr is not None
        for line in server.stderr:
            if line.startswith("import time:"):
                loaded.append(line.rpartition("|")[2].strip())
            elif event in line:
                return line
        raise AssertionError(f"no {event} in the log")

    listening = read_until("server.listening")
    connection = HTTPConnection(
        "127.0.0.1", int(listening.split("url=")[1].split()[0].rpartition(":")[2]), timeout=30
    )
    connection.request("GET", "/v1/health")
    assert connection.getresponse().read() == b'{"status":"ok"}'
    connection.request("POST", "/v1/acp/a?agent=mock", INITIALIZE, {"content-type": "application/json"})
    answer = connection.getresponse()
    assert answer.status == 200 and b"protocolVersion" in answer.read()
    connection.close()
    read_until("instance.started")
    assert "sandbox_agent.bridge.process.agent_process" in loaded
    assert [name for name in HEAVY if name in loaded] == []
