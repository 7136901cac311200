"""The native adapters behind the server, with the vendors' programs and the fake model: every check."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.agents.adapters.recipes import NATIVE_RECIPES
from tests.real_agents.matrix import CHECKS, Observation

# The first check of each adapter runs all of them.
pytestmark = pytest.mark.timeout(600)
# Amp sends complete messages, so no chunk marks the moment to cancel; test_user_decisions.py cancels it.
_ELSEWHERE = {("amp-native", "cancel")}


@pytest.mark.clause(
    "spec3-amp-subprocess-per-turn",
    "spec3-claude-subprocess-per-turn",
    "spec3-codex-approvals",
    "spec3-codex-shared-server",
    "spec3-human-in-the-loop",
    "spec3-opencode-http-server",
    "spec4-claude-reply",
    "adapters-nothing-survives-a-stop",
)
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("agent", NATIVE_RECIPES)
def test_native_adapter_passes(agent: str, check: str, observed: Callable[[str], Observation]) -> None:
    if (agent, check) in _ELSEWHERE:
        return
    observation = observed(agent)
    seen = observation.checks.get(check)
    assert seen is not None, f"not reached: {observation.checks}"
    expected = True if NATIVE_RECIPES[agent].has(check) else None
    assert seen.works is expected, seen.note
