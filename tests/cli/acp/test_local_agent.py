"""`sandbox-agent acp --agent X`: the agent on this machine, with the editor's own stdin and stdout."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.agents.install.install_environment import InstallEnvironment
from tests.agents.tiny_agent_package import npm_agent, npm_package
from tests.cli.acp.front import Front
from tests.support.polling import eventually
from tests.support.processes import is_alive


@pytest.mark.clause("front-local")
async def test_bytes_pass_unchanged_in_both_directions(local: Front, tmp_path: Path) -> None:
    record = tmp_path / "received"
    await local.request(1, "test/record", {"path": str(record)})
    odd = b'{ "id" : 2.50 , "x":"\\ud800","jsonrpc":"2.0" ,"method":"test/echo","params":{"n":1e400}}'
    await local.send(
        b'{"jsonrpc":"2.0","id":7,"method":"test/reply_to_next_line","params":{"hex":"%b"}}'
        % (b'{ "id":2.50, "result" :[1.0,  1e400] }\n'.hex().encode())
    )
    await local.answer(7)
    await local.send(odd)
    await local.wait_for(lambda message: message.get("id") == 2.5, "the answer")
    assert local.lines[-1] == b'{ "id":2.50, "result" :[1.0,  1e400] }\n'
    assert record.read_bytes().endswith(odd + b"\n")


@pytest.mark.clause("front-local-exit-code")
async def test_the_exit_code_is_that_of_the_agent(local: Front) -> None:
    await local.send({"id": 1, "method": "test/exit", "params": {"code": 7, "stderr": "out of luck"}})
    assert await local.wait() == 7
    assert b"out of luck" in local.errors
    await eventually(lambda: not local.left())


async def _stubborn_tree(front: Front) -> list[dict[str, Any]]:
    """Processes that ignore signals and the end of stdin, one of them in a session of its own."""
    children = [
        await front.request(number, method, {"ignore_signals": True})
        for number, method in enumerate(("test/fork_plain", "test/fork_setsid", "test/double_fork"), 1)
    ]
    await front.request(9, "test/ignore_signals")
    found = [child["result"] for child in children]
    assert all(is_alive(child) for child in found)
    return found


@pytest.mark.clause("front-local-leaves-nothing")
@pytest.mark.parametrize("how", ["input ends", "editor dies", "SIGTERM", "SIGHUP", "SIGINT", "SIGKILL"])
async def test_nothing_is_left_when_the_editor_goes(local: Front, how: str) -> None:
    children = await _stubborn_tree(local)
    if how == "input ends":
        local.end_input()
    elif how == "editor dies":
        # Both ends close, as they do when the editor is killed.
        transport: Any = local.process
        transport._transport.get_pipe_transport(1).close()
        local.end_input()
    else:
        os.kill(local.pid, signal.Signals[how])
    await eventually(lambda: not local.left() and not any(is_alive(child) for child in children), 20)


@pytest.mark.clause("front-local-leaves-nothing")
async def test_a_process_that_the_agent_leaves_behind_ends_with_it(local: Front) -> None:
    children = await _stubborn_tree(local)
    await local.send({"method": "test/kill_self"})
    assert await local.wait() == 128 + signal.SIGKILL
    await eventually(lambda: not local.left() and not any(is_alive(child) for child in children))


@pytest.mark.clause("front-local")
async def test_an_agent_that_cannot_be_started_is_an_error_of_the_first_request(tmp_path: Path) -> None:
    front = await Front(tmp_path / "editor", "--agent", "nonsense").start()
    answer = await front.request("first", "initialize")
    assert answer["error"]["message"] == "unsupported agent: nonsense"
    assert await front.wait() == 1
    await front.close()


@pytest.mark.node
@pytest.mark.network
@pytest.mark.clause("front-local-installs")
async def test_a_missing_agent_is_installed_first(tmp_path: Path) -> None:
    environment = InstallEnvironment(tmp_path, npm_agent(npm_package(tmp_path)))
    variables = {
        **environment.environ,
        "XDG_DATA_HOME": str(tmp_path / "share"),
        "SANDBOX_AGENT_AGENTS_FILE": str(environment.agents_file),
        "SANDBOX_AGENT_REQUIRE_PREINSTALL": "0",
    }
    front = await Front(tmp_path / "editor", "--agent", "tiny", environment=variables).start()
    try:
        await front.send({"id": 0, "method": "initialize", "params": {"protocolVersion": 1}})
        assert (await front.answer(0, 120))["result"]["protocolVersion"] == 1
        assert b"tiny" in front.errors
        front.end_input()
        assert await front.wait() == 0
    finally:
        await front.close()
    await eventually(lambda: not front.left())
