"""Real agents from install to turn: every check of the matrix, for the agents of CI or for all."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.real_agents.matrix import CHECKS, Observation
from tests.real_agents.recipes import CI_AGENTS, RECIPES

# The first check of each agent includes its install and all further checks.
pytestmark = pytest.mark.timeout(600)
AGENTS = [pytest.param(agent, marks=() if agent in CI_AGENTS else pytest.mark.full) for agent in RECIPES]


@pytest.mark.clause("spec1-3.2-lazy-install", "decision-42", "agents-nothing-left-behind")
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("agent", AGENTS)
def test_real_agent_passes(agent: str, check: str, observed: Callable[[str], Observation]) -> None:
    observation = observed(agent)
    seen = observation.checks.get(check)
    assert seen is not None, f"not reached: {observation.checks}"
    expected = True if RECIPES[agent].has(check) else None
    assert seen.works is expected, seen.note


@pytest.mark.parametrize("agent", AGENTS)
def test_catalogue_pins_the_version_that_runs(agent: str, observed: Callable[[str], Observation]) -> None:
    assert observed(agent).version, "the install did not say which version it is"
