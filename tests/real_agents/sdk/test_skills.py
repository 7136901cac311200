"""Skills of a session reach the model of a real agent, and are gone afterwards."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sandbox_agent import AsyncSandboxAgent
from sandbox_agent.agents.catalog.catalog import Catalog
from tests.agents.adapters.recipes import NATIVE_RECIPES
from tests.real_agents.conftest import client
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import CI_AGENTS, RECIPES
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(600)
_RECIPES = {**RECIPES, **NATIVE_RECIPES}
AGENTS = [
    pytest.param(agent, marks=() if agent in CI_AGENTS else pytest.mark.full)
    for agent in _RECIPES
    if Catalog().get(agent).skills_directory is not None
]
# Agents that use the skills of a directory only if their user trusts it.
_TRUSTED_FOLDERS = {
    "mistral-vibe": (".vibe/trusted_folders.toml", 'trusted = ["{cwd}"]\nuntrusted = []\n'),
    # What `grok --trust` writes.
    "grok": (".grok/trusted_folders.toml", '[folders."{cwd}"]\ntrusted = true\ndecided_at = 1795062956\n'),
    "hermes": (".hermes/config.yaml", "skills:\n  external_dirs: [{cwd}/.agents/skills]\n"),
}
_TRUSTING_SETTINGS = {"pi": (".pi/agent/settings.json", {"defaultProjectTrust": "always"})}
_TRUSTING_VARIABLES = {"gemini": {"GEMINI_CLI_TRUST_WORKSPACE": "true"}}
_SKILL = "---\nname: {name}\ndescription: Use this to {words} before you answer.\n---\nCount to ten first.\n"


def trust_directory(matrix: Matrix) -> None:
    """Do what the user of such an agent has done."""
    agent = matrix.recipe.agent
    matrix.env.update(_TRUSTING_VARIABLES.get(agent, {}))
    if agent in _TRUSTED_FOLDERS:
        name, text = _TRUSTED_FOLDERS[agent]
        with (matrix.home / name).open("a") as file:
            file.write(text.replace("{cwd}", str(matrix.cwd)))
    if agent in _TRUSTING_SETTINGS:
        name, settings = _TRUSTING_SETTINGS[agent]
        known = json.loads((matrix.home / name).read_text())
        (matrix.home / name).write_text(json.dumps(known | settings))


@pytest.mark.clause("spec1-5.4-skills-reach-agents")
@pytest.mark.parametrize("agent", AGENTS)
async def test_the_model_of_a_real_agent_sees_the_skill(
    agent: str, server: ServerProcess, model: FakeModel, tmp_path: Path
) -> None:
    async with client(server) as http:
        await install(http, agent)
        matrix = Matrix(_RECIPES[agent], http, model.base, tmp_path / "agent")
    trust_directory(matrix)
    given, configured = (f"{word} the {os.urandom(4).hex()}" for word in ("polish", "measure"))
    for name, words in (("given", given), ("configured", configured)):
        folder = tmp_path / name / f"{name}-skill"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(_SKILL.format(name=f"{name}-skill", words=words))
    sdk = await AsyncSandboxAgent.connect(
        f"http://127.0.0.1:{server.port}", headers={"x-sandbox-agent-env": json.dumps(matrix.env)}
    )
    async with sdk:
        where = str(matrix.cwd)
        entry = {"sources": [{"type": "local", "source": str(tmp_path / "configured")}]}
        await sdk.config.skills.set(where, "ours", entry)
        plain = await sdk.sessions.create(agent, directory=where)
        await plain.prompt("[[say without]]")
        await plain.terminate()
        assert not model.was_sent(given) and not model.was_sent(configured)
        session = await sdk.sessions.create(
            agent,
            directory=where,
            use_directory_config=True,
            skills={"sources": [{"type": "local", "source": str(tmp_path / "given")}]},
        )
        assert not session.restored.not_applied
        await session.prompt("[[say with]]")
        assert model.was_sent(given) and model.was_sent(configured)
        await session.terminate()
        assert not list(matrix.cwd.rglob("SKILL.md"))
