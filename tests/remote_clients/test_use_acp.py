"""use-acp, the client of marimo, unchanged: over a WebSocket of /acp, and through `sandbox-agent acp`."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote_clients.conftest import HERE
from tests.support.clients.published_clients import installed
from tests.support.processes import wait_until
from tests.support.server_process import HttpServer, ServerProcess, free_port

PACKAGES = (
    "use-acp@0.2.6",
    "react@19.3.1",
    "react-dom@19.3.1",
    "happy-dom@21.0.4",
    "ws@8.23.0",
    "stdio-to-ws@0.2.0",
)
NODE = shutil.which("node") or "node"


@pytest.fixture(scope="module")
def modules() -> Path:
    return installed("use-acp", PACKAGES)


@pytest.fixture(params=list(HttpServer), ids=lambda server: server.value)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ServerProcess]:
    # The package cannot send a token.
    process = ServerProcess(tmp_path / "server", token=None, http_server=request.param)
    with process:
        yield process


def talk(modules: Path, url: str, home: Path) -> dict[str, object]:
    done = subprocess.run(
        [NODE, str(HERE / "use_acp.mjs")],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
        cwd=home,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PACKAGES": str(modules), "URL": url},
    )
    assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
    seen: dict[str, object] = json.loads(done.stdout.strip().splitlines()[-1])
    return seen


@pytest.mark.timeout(200)
@pytest.mark.clause("remote-official-clients", "remote-websocket")
def test_use_acp_connects_to_the_server(modules: Path, server: ServerProcess, tmp_path: Path) -> None:
    seen = talk(modules, f"ws://127.0.0.1:{server.port}/acp/mock", tmp_path)
    assert seen == {"version": 1, "stopReason": "end_turn"}
    wait_until(lambda: server.acp.list() == [], 10, "the end of the agent")


@pytest.mark.timeout(200)
@pytest.mark.clause("front-clients")
def test_use_acp_connects_to_the_front_behind_stdio_to_ws(
    modules: Path, server: ServerProcess, tmp_path: Path
) -> None:
    url = f"http://127.0.0.1:{server.port}"
    front = [sys.executable, "-m", "sandbox_agent", "acp", "--url", url, "--agent", "mock"]
    port = free_port()
    relay = subprocess.Popen(
        [NODE, str(modules / "stdio-to-ws" / "dist" / "main.js"), shlex.join(front), "--port", str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
    )
    try:
        assert relay.stdout is not None
        assert str(port) in relay.stdout.readline()  # it listens
        assert talk(modules, f"ws://127.0.0.1:{port}", tmp_path)["stopReason"] == "end_turn"
        wait_until(lambda: server.acp.list() == [], 20, "the end of the agent")
    finally:
        relay.terminate()
        relay.wait(20)
        assert relay.stdout is not None
        relay.stdout.close()
