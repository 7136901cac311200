"""The catalogue's flags of the further agents agree with the recipes of the matrix."""

from __future__ import annotations

import pytest

from sandbox_agent.agents.catalog.catalog import Catalog
from tests.real_agents.recipes import RECIPES, TEXT_AGENTS

# The seven ids of the reference keep its flags, also where an agent has changed.
OF_THE_REFERENCE = {"claude", "codex", "opencode", "amp", "pi", "cursor", "mock"}
FURTHER = [agent for agent in RECIPES if agent not in OF_THE_REFERENCE]


@pytest.mark.parametrize("agent", FURTHER)
def test_flags_of_a_further_agent_are_those_of_its_recipe(agent: str) -> None:
    recipe, flags = RECIPES[agent], Catalog().get(agent).capabilities
    assert ("questions" in flags) == (recipe.question is not None)
    assert ("reasoning" in flags) == recipe.thoughts
    assert "permissions" in flags or not recipe.asks_permission


def test_every_agent_that_can_be_installed_has_a_recipe() -> None:
    # The native adapters have tests of their own.
    ids = [agent for agent in Catalog().ids() if not agent.endswith("-native")]
    assert {*RECIPES, *TEXT_AGENTS} == {agent for agent in ids if Catalog().get(agent).install}
