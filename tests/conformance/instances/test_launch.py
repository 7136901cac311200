"""How agents are started and what they inherit."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.clients.acp import AGENT, Acp
from tests.support.clients.raw_http import Client, ConnectionClosed
from tests.support.processes import wait_until
from tests.support.server_process import (
    SCRIPTED_AGENT,
    bare_environment,
    free_port,
    place_launcher,
    server_command,
)


@pytest.mark.clause("agents-inherited-environment")
def test_a_launcher_is_started_without_arguments_in_the_servers_directory(start_server) -> None:
    server = start_server()
    agent_process = server.acp.call(server.acp.start(), "test/info")
    assert agent_process["argv"][1:] == []
    assert agent_process["cwd"] == str(server.home)


@pytest.mark.clause("agents-inherited-environment")
def test_agents_inherit_the_environment_and_learn_where_the_server_program_is(start_server) -> None:
    server = start_server(settings={"ANTHROPIC_API_KEY": "k", "MY_OWN": "väl ue"})
    environment = server.acp.call(server.acp.start(), "test/info")["env"]
    assert environment["ANTHROPIC_API_KEY"] == "k"
    assert environment["MY_OWN"] == "väl ue"
    assert environment["HOME"] == str(server.home)
    program = environment["SANDBOX_AGENT_BIN"]
    assert os.access(program, os.X_OK)


@pytest.mark.clause("agents-inherited-environment")
def test_agents_inherit_no_descriptor_but_their_three_pipes(acp: Acp) -> None:
    first, second = acp.start(), acp.start()
    with acp.stream(first):
        third = acp.start()
        for server_id in (first, second, third):
            fds = acp.call(server_id, "test/info")["fds"]
            assert len(fds) <= 4, fds  # 0, 1, 2 and the directory that is being listed


@pytest.mark.clause("agents-launching")
def test_a_launcher_file_replaces_how_a_known_agent_starts(start_server) -> None:
    server = start_server()
    place_launcher(
        server.data_home,
        "mock",
        '#!/bin/sh\nread line\necho \'{"id":1,"result":"from the launcher"}\'\ncat\n',
    )
    answer = server.acp.post("m", b'{"id":1,"method":"initialize"}', agent="mock")
    assert answer.json()["result"] == "from the launcher"


@pytest.mark.clause("agents-launching")
def test_a_launcher_file_does_not_make_a_new_agent(start_server) -> None:
    server = start_server()
    place_launcher(server.data_home, "brandnew", "#!/bin/sh\ncat\n")
    assert server.acp.send("b", "x", agent="brandnew").status == 400


@pytest.mark.clause("spec1-8-lazy", "agents-launching")
def test_the_built_in_mock_works_on_a_fresh_server(start_server) -> None:
    server = start_server()
    params = {"protocolVersion": 1, "clientCapabilities": {}}
    result = server.acp.call("fresh", "initialize", params, agent="mock", timeout=20)
    assert result["protocolVersion"] == 1
    session = server.acp.call("fresh", "session/new", {"cwd": "/", "mcpServers": []})
    assert session["sessionId"]


@pytest.mark.clause("agents-launching")
@pytest.mark.ours
def test_a_user_can_add_an_agent_by_command(start_server, tmp_path: Path) -> None:
    agents = tmp_path / "agents.toml"
    agents.write_text(
        f'[[agent]]\nid = "mine"\ncommand = "{sys.executable}"\n'
        f'args = ["-I", "-S", "{SCRIPTED_AGENT}", "one"]\n'
        f'cwd = "{tmp_path}"\nenv = {{ COLOUR = "blue" }}\n'
    )
    server = start_server(arguments=["--agents-file", str(agents)])
    agent_process = server.acp.call("u", "test/info", agent="mine")
    assert agent_process["argv"][1:] == ["one"]
    assert agent_process["cwd"] == str(tmp_path)
    assert agent_process["env"]["COLOUR"] == "blue"


@pytest.mark.ours
def test_a_bootstrap_may_choose_directory_and_environment(start_server, tmp_path: Path) -> None:
    server = start_server()
    acp = server.acp
    answer = acp.client.request(
        "POST",
        f"/v1/acp/c?agent={AGENT}&cwd={tmp_path}",
        headers={"content-type": "application/json", "x-sandbox-agent-env": '{"COLOUR":"green"}'},
        body=b'{"id":1,"method":"test/info"}',
    )
    assert answer.status == 200
    assert answer.json()["result"]["cwd"] == str(tmp_path)
    assert answer.json()["result"]["env"]["COLOUR"] == "green"


@pytest.mark.clause("security-H2")
@pytest.mark.ours
@pytest.mark.parametrize("value", ['{"a":"\xff"}', '{"a":"\\ud800"}', "{" * 3000, '{"a":1}', '{"a":'])
def test_an_environment_that_cannot_be_read_is_400(acp: Acp, value: str) -> None:
    answer = acp.send(acp.new_id(), "test/echo", agent=AGENT, headers={"x-sandbox-agent-env": value})
    assert answer.status == 400, answer.body


def run_like_the_sdk(arguments: list[str], home: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*server_command(), *arguments],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=bare_environment(home),
    )


@pytest.mark.own_server("the command line, its exit codes and its messages belong to the server command")
@pytest.mark.clause("http-sdk-argument-order")
@pytest.mark.parametrize(
    "arguments",
    [
        ["server", "--host", "127.0.0.1", "--port", "{port}", "--token", "0" * 48],
        ["server", "--no-token", "--host", "0.0.0.0", "--port", "{port}"],
        ["--token", "0" * 48, "server", "--port", "{port}"],
        ["-t", "0" * 48, "server", "-H", "127.0.0.1", "-p", "{port}"],
        ["-n", "server", "-p", "{port}", "--no-telemetry"],
    ],
)
def test_the_argument_orders_of_the_published_sdk_are_understood(
    tmp_path: Path, arguments: list[str]
) -> None:
    port = free_port()
    token = "0" * 48 if "0" * 48 in arguments else None
    client = Client("127.0.0.1", port, token)
    process = run_like_the_sdk([each.format(port=port) for each in arguments], tmp_path)
    try:

        def healthy() -> bool:
            assert process.poll() is None
            try:
                return client.get("/v1/health", timeout=2).json() == {"status": "ok"}
            except (OSError, ConnectionClosed):
                return False

        wait_until(healthy, 15, "health")
        if token:
            assert client.get("/v1/health", authorized=False).status == 401
        began = time.monotonic()
        process.terminate()
        process.wait(5)
        assert time.monotonic() - began < 5
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
