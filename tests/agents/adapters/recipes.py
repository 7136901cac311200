"""How the native adapters are pointed to the fake model: as the upstream adapters are, with what differs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.agents.adapters.adapter_process import AdapterProcess
from tests.real_agents.fake_model import FakeModel
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


def adapter_of(name: str, program: Path, model: FakeModel, tmp_path: Path) -> AdapterProcess:
    """The adapter alone, in an empty home."""
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    recipe = NATIVE_RECIPES[f"{name}-native"]
    env = {key: value.replace("{base}", model.base) for key, value in recipe.env.items()}
    env |= {"HOME": str(home), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    # Otherwise Claude offers some tools to the model only after a search for them.
    env |= {"ENABLE_TOOL_SEARCH": "false"}
    return AdapterProcess(name, program, work, env)
