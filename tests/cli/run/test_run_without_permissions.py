"""`run` and the SDK with agents that never ask: the user hears that no tool can be refused."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from sandbox_agent import AsyncSandboxAgent, auto_reject
from tests.cli.sandbox_directory import SandboxDirectory
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.process


def agents_file(directory: Path, asks: str) -> str:
    """An agents file whose agent `own` is the mock, described as one that asks as `asks` says."""
    path = directory / "agents.toml"
    arguments = '["-m", "sandbox_agent.agents.mock"]'
    path.write_text(
        f'[[agent]]\nid = "own"\ncommand = "{sys.executable}"\nargs = {arguments}\nasks = "{asks}"\n'
    )
    return str(path)


@pytest.mark.clause("agents-never-ask")
@pytest.mark.parametrize("asks", ["never", "terminal"])
@pytest.mark.parametrize("approve", ["none", "reads"])
def test_agent_that_never_asks_is_not_started_if_tools_are_to_be_refused(
    sandbox: SandboxDirectory, tmp_path: Path, asks: str, approve: str
) -> None:
    environment = {"SANDBOX_AGENT_AGENTS_FILE": agents_file(tmp_path, asks)}
    refused = sandbox.run("run", "own", "echo hello", "--approve", approve, environment=environment)
    assert refused.code == 2 and refused.out == ""
    assert "own never asks for permission: every tool it uses runs" in refused.err
    sandbox.wait_until_quiet()


@pytest.mark.clause("agents-never-ask")
@pytest.mark.parametrize(
    ("asks", "words", "warning"),
    [
        ("never", (), "own never asks"),
        ("never", ("--approve", "all"), ""),
        ("partly", ("--approve", "none"), "own does not ask before every tool"),
        ("always", ("--approve", "none"), ""),
    ],
)
def test_other_runs_start_and_warn_where_it_matters(
    sandbox: SandboxDirectory, tmp_path: Path, asks: str, words: tuple[str, ...], warning: str
) -> None:
    environment = {"SANDBOX_AGENT_AGENTS_FILE": agents_file(tmp_path, asks)}
    done = sandbox.run("run", "own", "echo hello", *words, environment=environment).good()
    assert done.out == "hello\n"
    assert warning in done.err if warning else "ask" not in done.err
    sandbox.wait_until_quiet()


@pytest.mark.clause("agents-never-ask")
async def test_session_with_a_rejecting_callback_warns_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"SANDBOX_AGENT_AGENTS_FILE": agents_file(tmp_path, "never")}
    server = ServerProcess(tmp_path, settings=settings, token=None).ready()
    try:
        async with await AsyncSandboxAgent.connect(f"http://127.0.0.1:{server.port}") as client:
            info = await client.agents.get("own")
            assert info.permission_requests == "never" and info.never_asks
            assert not (await client.agents.get("mock")).never_asks
            with caplog.at_level(logging.WARNING, "sandbox_agent"):
                await client.sessions.create("mock", on_permission=auto_reject)
                assert caplog.messages == []
                await client.sessions.create("own")
                assert caplog.messages == [], "there is no callback that could expect a call"
                for _ in range(2):
                    await client.sessions.create("own", on_permission=auto_reject)
                assert [text for text in caplog.messages if "never asks for permission" in text] == [
                    "own never asks for permission: on_permission is not called, every tool runs"
                ]
    finally:
        server.stop()
