"""What the catalogue promises of the further agents is what the matrix looks for, and finds."""

from __future__ import annotations

import pytest

from sandbox_agent.agents.catalog.catalog import Catalog
from tests.real_agents.recipes import RECIPES

# The seven ids of the reference keep its flags, whatever the agents do today.
OF_THE_REFERENCE = {"claude", "codex", "opencode", "amp", "pi", "cursor", "mock"}
FURTHER = [agent for agent in RECIPES if agent not in OF_THE_REFERENCE]


@pytest.mark.parametrize("agent", FURTHER)
def test_flags_of_a_further_agent_are_those_of_its_recipe(agent: str) -> None:
    recipe, flags = RECIPES[agent], Catalog().get(agent).capabilities
    assert ("questions" in flags) == (recipe.question is not None)
    assert ("reasoning" in flags) == recipe.thoughts
    assert "permissions" in flags or not recipe.asks_permission


def test_every_agent_that_can_be_installed_has_a_recipe() -> None:
    # Adapters of our own around a vendor's program have tests of their own.
    ids = [agent for agent in Catalog().ids() if not agent.endswith("-native")]
    assert set(RECIPES) == {agent for agent in ids if Catalog().get(agent).install}
