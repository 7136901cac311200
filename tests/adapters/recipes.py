"""How the native adapters are pointed to the fake model: as the upstream adapters are, with what differs."""

from __future__ import annotations

from dataclasses import replace

from tests.real_agents.recipes import RECIPES, Recipe

NATIVE_RECIPES: dict[str, Recipe] = {
    recipe.agent: recipe
    for recipe in (
        replace(RECIPES["claude"], agent="claude-native"),
        # A rejected command is declined, and the turn goes on.
        replace(RECIPES["codex"], agent="codex-native", after_reject=("end_turn",)),
        replace(RECIPES["opencode"], agent="opencode-native", question="elicitation/create"),
        replace(RECIPES["amp"], agent="amp-native", loads_sessions=True, thoughts=True),
    )
}
UPSTREAM = {"claude-native": "claude", "codex-native": "codex", "opencode-native": "opencode"}
"""Whose program is used if it is installed; Amp's own packages are small and fetched."""
