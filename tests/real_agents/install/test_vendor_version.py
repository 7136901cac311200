"""With `agentVersion` the adapters of Claude and Codex run the vendor's program in that version."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.real_agents.conftest import client, start_server
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.full,  # downloads 1 GB
]


@pytest.mark.parametrize(("agent", "version"), [("claude", "2.1.324"), ("codex", "0.165.0")])
async def test_adapter_runs_the_program_in_the_version_that_was_asked_for(
    agent: str, version: str, model: FakeModel, tmp_path: Path
) -> None:
    with start_server(tmp_path / "server", tmp_path / "data") as server:
        async with client(server) as http:
            native, process = (await install(http, agent, agentVersion=version))["artifacts"]
            assert (native["kind"], native["version"]) == ("native_agent", version)
            assert process["kind"] == "agent_process"
            said = subprocess.run([native["path"], "--version"], capture_output=True, text=True, timeout=30)  # noqa: ASYNC221 - nothing else runs here
            assert version in said.stdout
            seen = await Matrix(RECIPES[agent], http, model.base, tmp_path / "agent").observe()
            failed = {name: check.note for name, check in seen.checks.items() if check.works is False}
            assert not failed
