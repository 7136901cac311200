"""The reference's own clients work unchanged: connect, start, prompt, permission, events, quick disposal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import MARK_VARIABLE, marked, wait_until
from tests.support.server_process import ServerProcess


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path / "server")
    try:
        yield process.ready()
    finally:
        code = process.stop()
        left = process.kill_leftovers()
    assert (code, left) == (0, {})


def connected(server: ServerProcess) -> dict[str, str]:
    return {"BASE_URL": f"http://127.0.0.1:{server.port}", "TOKEN": server.token or "", "AGENT": "mock"}


@pytest.mark.clause("spec1-3.1-no-connection-id", "spec1-8-e2e", "http-published-clients")
def test_acp_http_client_speaks_to_the_mock_agent(
    server: ServerProcess, run_node: Callable[..., Any]
) -> None:
    seen = run_node("acp_http_client.mjs", **connected(server))
    assert seen["protocolVersion"] == 1
    assert seen["stopReasons"] == ["end_turn"] * 3
    assert seen["updates"].count("agent_message_chunk") >= 26
    assert seen["permissions"] == [["allow_once", "allow_always", "reject_once"]]
    assert seen["parallel"] == [1, "mode set"]
    assert seen["disconnectMs"] < 1000
    wait_until(lambda: server.acp.list() == [], 5, "the closed instance")


@pytest.mark.clause("http-published-clients")
def test_the_sdk_connects_to_a_running_server(server: ServerProcess, run_node: Callable[..., Any]) -> None:
    seen = run_node("sandbox_agent_sdk.mjs", **connected(server))
    check_session(seen)
    assert seen["disposeMs"] < 1000
    wait_until(lambda: server.acp.list() == [], 5, "the closed instance")


@pytest.mark.clause("http-sdk-argument-order", "http-published-clients")
def test_the_sdk_starts_our_command_with_its_local_provider(
    our_command: Path, run_node: Callable[..., Any], tmp_path: Path
) -> None:
    mark = f"sdk-{tmp_path.name}"
    seen = run_node(
        "sandbox_agent_sdk.mjs", SANDBOX_AGENT_BIN=str(our_command), AGENT="mock", **{MARK_VARIABLE: mark}
    )
    check_session(seen)
    assert seen["sandboxId"].startswith("local/")
    assert seen["disposeMs"] < 1000
    assert seen["destroyMs"] < 5000
    wait_until(lambda: not marked(mark), 5, "no process left")


def check_session(seen: dict[str, Any]) -> None:
    assert seen["health"] == {"status": "ok"}
    assert seen["stopReasons"] == ["end_turn"] * 3
    assert seen["seen"].count("agent_message_chunk") >= 11
    assert seen["asked"] == 1
    assert seen["modes"] == 1
    assert seen["events"] > 15
    assert seen["agents"][:7] == ["claude", "codex", "opencode", "amp", "pi", "cursor", "mock"]
    assert seen["agentSessionId"]


@pytest.mark.clause("processes-published-client")
def test_every_process_and_terminal_method_of_the_sdk_works(
    server: ServerProcess, run_node: Callable[..., Any]
) -> None:
    # Node 20 has a WebSocket behind this option only.
    seen = run_node("processes.mjs", NODE_OPTIONS="--experimental-websocket", **connected(server))
    assert seen["changed"] == {**seen["config"], "maxConcurrentProcesses": 7}
    assert (seen["run"]["exitCode"], seen["run"]["stdout"], seen["run"]["stderr"]) == (3, "out\n", "err\n")
    assert seen["written"] == {"bytesWritten": 6}
    assert seen["followed"] == seen["logs"] == ["got hello\n"]
    assert (seen["exited"]["status"], seen["exited"]["exitCode"]) == ("exited", 4)
    assert seen["size"] == {"cols": 100, "rows": 30}
    terminal = seen["seen"]
    assert (terminal["ready"], terminal["exit"], terminal["errors"]) == ("proc_2", 5, [])
    assert "30 100" in terminal["data"] and "20 90" in terminal["data"]
    assert seen["first"] == {"processId": "proc_3", "type": "ready"}
    assert (seen["stillRunning"], seen["stopped"], seen["killed"]) == ("running", "exited", "exited")
    assert seen["listed"] == ["proc_2", "proc_3", "proc_4"]
    assert seen["fault"][0] == 404
    assert seen["url"].endswith("/v1/processes/proc_3/terminal/ws?access_token=t")


@pytest.mark.clause("processes-no-desktop")
def test_every_desktop_method_of_the_sdk_is_told_that_there_is_none(
    server: ServerProcess, run_node: Callable[..., Any]
) -> None:
    seen = run_node("desktop.mjs", **connected(server))
    sockets = {
        name: answer for name, answer in seen.items() if "WebSocket" in name or name == "connectDesktopStream"
    }
    assert len(seen) - len(sockets) == 35 and seen["buildDesktopStreamWebSocketUrl"] == "address"
    for name in seen.keys() - sockets.keys():
        assert seen[name] == [404, "urn:sandbox-agent:error:not_found"], name
    upgrade = {"connection": "Upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
    key = {"sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ=="}
    answer = server.client.get("/v1/desktop/stream/signaling", headers={**upgrade, **key})
    assert answer.status == 404 and answer.header("content-type") == "application/problem+json"
