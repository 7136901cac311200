"""Shell completion of agent names."""

from __future__ import annotations

import click

from sandbox_agent.agents.catalog.catalog import BUILTIN_IDS


def complete_agent(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The built-in agents whose name starts with `incomplete`."""
    return [agent_id for agent_id in BUILTIN_IDS if agent_id.startswith(incomplete)]
