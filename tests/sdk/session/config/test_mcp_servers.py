"""MCP entries as `mcpServers`: nothing of an entry is left out without an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent, McpConfigError
from sandbox_agent.sdk.session.config.mcp_servers import mcp_servers
from tests.sdk.conftest import Connect
from tests.sdk.live_server import LiveServer

# An MCP server that tells its directory, and never answers `slow`.
SERVER = """
import json, os, sys
for line in sys.stdin:
    request = json.loads(line)
    if request.get("method") == "notifications/cancelled":
        print(json.dumps({"jsonrpc": "2.0", "id": request["params"]["requestId"], "result": "late"}))
        print(json.dumps({"jsonrpc": "2.0", "method": "cancelled", "params": request["params"]}), flush=True)
    elif request.get("method") != "slow":
        result = {"cwd": os.getcwd(), "env": os.environ.get("OWN")}
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
sys.exit(7)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "server.py"
    path.write_text(SERVER)
    return path


def start(entry: dict[str, Any], directory: Path) -> subprocess.Popen[bytes]:
    """Start the server as an agent would."""
    (server,) = mcp_servers({"tools": entry}, str(directory))
    variables = {one["name"]: one["value"] for one in server["env"]}
    return subprocess.Popen(
        [server["command"], *server["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], **variables},
    )


def ask(process: subprocess.Popen[bytes], method: str, number: int) -> None:
    assert process.stdin is not None
    process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method}).encode() + b"\n")
    process.stdin.flush()


def read(process: subprocess.Popen[bytes]) -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


@pytest.mark.clause("spec2-3.1-mcp", "mcp-nothing-dropped")
@pytest.mark.parametrize("cwd", ["absolute", "relative", "home"])
def test_cwd_is_the_directory_of_the_server(program: Path, tmp_path: Path, cwd: str) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    given = {"absolute": str(inner), "relative": "inner", "home": "~/inner"}[cwd]
    entry = {
        "command": [sys.executable, str(program)],
        "cwd": given,
        "env": {"OWN": "1", "HOME": str(tmp_path)},
    }
    with start(entry, tmp_path) as process:
        ask(process, "where", 1)
        assert read(process)["result"] == {"cwd": str(inner), "env": "1"}
        process.communicate(timeout=20)
    assert process.returncode == 7, "the exit code is that of the server"


@pytest.mark.clause("spec2-3.1-mcp", "mcp-nothing-dropped")
def test_timeout_answers_for_a_server_that_does_not(program: Path, tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": [str(program)], "timeoutMs": 1500}
    with start(entry, tmp_path) as process:
        ask(process, "slow", 1)
        ask(process, "quick", 2)
        assert read(process)["id"] == 2, "others are not held up"
        late = read(process)
        assert (late["id"], late["error"]["code"]) == (1, -32001) and "1500 ms" in late["error"]["message"]
        told = read(process)
        assert told["method"] == "cancelled" and told["params"]["requestId"] == 1, "and no second answer"
        ask(process, "quick", 3)
        assert read(process)["id"] == 3
        process.communicate(timeout=20)
    assert process.returncode == 7


@pytest.mark.clause("spec2-3.1-mcp")
def test_variables_of_a_remote_server_are_read_from_the_environment() -> None:
    entry = {
        "type": "http",
        "url": "https://u",
        "headers": {"X": "1"},
        "bearerTokenEnvVar": "TOK",
        "envHeaders": {"Y": "VAR"},
        "oauth": False,
    }
    assert mcp_servers({"r": entry}, environment={"TOK": "t", "VAR": "v"}) == [
        {
            "type": "http",
            "name": "r",
            "url": "https://u",
            "headers": [
                {"name": "X", "value": "1"},
                {"name": "Y", "value": "v"},
                {"name": "Authorization", "value": "Bearer t"},
            ],
        }
    ]


@pytest.mark.clause("mcp-nothing-dropped")
@pytest.mark.parametrize(
    ("fields", "field", "said"),
    [
        ({"bearerTokenEnvVar": "ABSENT"}, "bearerTokenEnvVar", "ABSENT"),
        ({"envHeaders": {"Z": "ABSENT"}}, "envHeaders.Z", "ABSENT"),
        ({"oauth": True}, "oauth", "OAuth"),
        ({"oauth": {"clientId": "x"}}, "oauth", "OAuth"),
        ({"timeoutMs": 5}, "timeoutMs", "time limit"),
        ({"cwd": "/x"}, "cwd", "local"),
    ],
)
async def test_what_a_remote_server_cannot_have_is_named(
    client: AsyncSandboxAgent, fields: dict[str, Any], field: str, said: str
) -> None:
    entry = {"type": "remote", "url": "https://x.invalid", **fields}
    with pytest.raises(McpConfigError, match=said) as failure:
        await client.sessions.create("mock", mcp={"far": entry})
    assert (failure.value.server, failure.value.field) == ("far", field)
    session = await client.sessions.create("mock", mcp={"far": {**entry, "enabled": False}})
    assert (session.record.session_init or {})["mcpServers"] == []


@pytest.mark.clause("mcp-nothing-dropped")
@pytest.mark.parametrize("entry", [{"url": "https://u", "header": {"X": "1"}}, {"command": "x", "header": 1}])
def test_a_field_that_does_not_exist_is_named(entry: dict[str, Any]) -> None:
    with pytest.raises(McpConfigError, match=r"none of the fields .*headers") as failure:
        mcp_servers({"far": entry})
    assert failure.value.field == "header"


@pytest.mark.clause("mcp-client-environment")
async def test_an_entry_in_a_sandbox_elsewhere_gets_no_variable_of_the_client(
    own_server: LiveServer, connect: Connect, client: AsyncSandboxAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLIENT_SECRET", "of-the-client")
    work = str(own_server.work)
    entry = {"type": "remote", "url": "https://x.invalid", "bearerTokenEnvVar": "CLIENT_SECRET"}
    elsewhere = await connect()
    for one in (elsewhere, client):
        await one.config.mcp.set(work, "far", entry)
    with pytest.raises(McpConfigError, match="CLIENT_SECRET"):
        await elsewhere.sessions.create("mock", directory=work, use_directory_config=True)
    session = await elsewhere.sessions.create("mock", directory=work, mcp={"far": entry})
    assert "of-the-client" in json.dumps(session.record.session_init)
    session = await client.sessions.create("mock", directory=work, use_directory_config=True)
    assert "of-the-client" in json.dumps(session.record.session_init), "a server of this very program"


@pytest.mark.clause("spec2-3.1-mcp", "mcp-nothing-dropped")
async def test_the_agent_gets_the_launcher(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    entry = {"type": "local", "command": "tool", "args": ["-v"], "cwd": "inner", "timeoutMs": 100}
    work = str(tmp_path / "work")
    session = await client.sessions.create("mock", directory=work, mcp={"tools": entry})
    (server,) = json.loads((await session.prompt("info")).text)["mcpServers"]
    assert server["args"][-2:] == ["tool", "-v"]
    limits = {"cwd": f"{work}/inner", "timeoutMs": 100}
    assert json.loads(server["args"][-3]) == limits
    assert server["_meta"] == {"sandboxagent.dev": limits}
