"""`sandbox_agent.testing`: the fixtures that users have in their own tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

USERS_TESTS = """
import os

async def test_the_scripted_agent_says_what_the_test_wants(async_sandbox_agent_client, scripted_agent):
    scripted_agent.answers({"what is 6 x 7?": ["4", "2"]})
    session = await async_sandbox_agent_client.sessions.create(scripted_agent.id)
    async with session.stream("what is 6 x 7?") as turn:
        assert [delta async for delta in turn.text_deltas] == ["4", "2"]
    scripted_agent.answers({"again": "changed"})
    assert (await session.prompt("again")).text == "changed"
    assert (await session.prompt("unknown")).text == "unknown"

async def test_the_scripted_agent_has_an_id_of_its_own(async_sandbox_agent_client, scripted_agent):
    assert scripted_agent.id == "scripted"
    agents = {agent.id: agent for agent in await async_sandbox_agent_client.agents.list()}
    assert agents["scripted"].installed and not agents["amp"].installed

def test_the_mock_agent_works_without_a_loop(sandbox_agent_client, sandbox_agent_home):
    session = sandbox_agent_client.sessions.create("mock")
    assert session.prompt("echo hi").text == "hi"
    assert session.directory == str(sandbox_agent_home / "work")
    assert os.environ["HOME"] == str(sandbox_agent_home)
"""


@pytest.mark.clause("sdk-testing")
def test_users_can_test_their_code_with_the_fixtures(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["sandbox_agent.testing"]\n')
    (tmp_path / "test_users.py").write_text(USERS_TESTS)
    settings = [
        "asyncio_mode = auto",
        "asyncio_default_fixture_loop_scope = function",
        "filterwarnings = error",
    ]
    (tmp_path / "pytest.ini").write_text("\n".join(["[pytest]", *settings]))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=tmp_path, check=False)
    assert run.returncode == 0 and "3 passed" in run.stdout, run.stdout + run.stderr
