"""All processes of an agent end, also if it relaunches itself, ignores the end of stdin and hides a tool."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

# Like Gemini CLI: the process that was started only waits for a second one, which is the agent.
RELAUNCHING = """\
import json, os, signal, subprocess, sys
if "INNER" not in os.environ:
    sys.exit(subprocess.call([sys.executable, "-S", __file__], env={**os.environ, "INNER": "1"}))
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "tool":
        subprocess.Popen(["setsid", "tail", "-f", message["params"]["file"]])
    result = {"protocolVersion": 1, "pid": os.getpid()}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
while True:
    signal.pause()
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    agent = tmp_path / "relaunching.py"
    agent.write_text(RELAUNCHING)
    (tmp_path / "agents.toml").write_text(
        f'[[agent]]\nid = "again"\ncommand = "{sys.executable}"\nargs = ["-S", "{agent}"]\n'
    )
    settings = {"SANDBOX_AGENT_AGENTS_FILE": str(tmp_path / "agents.toml")}
    with ServerProcess(tmp_path, settings=settings, token=None) as running:
        yield running


@pytest.mark.clause("agents-nothing-left-behind")
@pytest.mark.parametrize("ending", ["delete", "agent", "SIGTERM", "SIGKILL"])
def test_all_processes_of_a_relaunching_agent_end(server: ServerProcess, tmp_path: Path, ending: str) -> None:
    file = tmp_path / "followed"
    file.touch()
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=20) as http:
        first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}}
        inner = http.post("/v1/acp/x?agent=again", json=first).json()["result"]["pid"]
        tool = {"jsonrpc": "2.0", "id": 2, "method": "tool", "params": {"file": str(file)}}
        assert http.post("/v1/acp/x", json=tool).status_code == 200
        (row,) = http.get("/v1/acp").json()["servers"]
        assert row["pid"] != inner

        def of_the_agent() -> list[int]:
            words = ("relaunching.py", str(file))
            mine = server.marked_processes()
            return [pid for pid, command in mine.items() if any(word in command for word in words)]

        wait_until(lambda: len(of_the_agent()) == 3, 10, "the agent, its second self and its tool")
        if ending == "delete":
            assert http.delete("/v1/acp/x").status_code == 204
        elif ending == "agent":
            os.kill(row["pid"], signal.SIGKILL)
        else:
            server.signal(signal.Signals[ending])
            server.wait_for_exit(10)
        wait_until(lambda: not of_the_agent(), 15, "the end of all three")
        if ending == "SIGKILL":
            wait_until(lambda: not server.marked_processes(), 15, "the end of the watchdog")
