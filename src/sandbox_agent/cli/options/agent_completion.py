"""Shell completion of agent names."""

from __future__ import annotations

import click

from sandbox_agent.agents.catalog.catalog import builtin_ids


def complete_agent(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """The built-in agents whose id starts with `incomplete`."""
    return [agent_id for agent_id in builtin_ids() if agent_id.startswith(incomplete)]
