"""Ids of agents for shell completion."""

from __future__ import annotations

import click

from sandbox_agent.agents.catalog.catalog import builtin_ids


def offer_agents(_: click.Context, __: click.Parameter, beginning: str) -> list[str]:
    """The built-in agents whose id starts with `beginning`."""
    return [agent_id for agent_id in builtin_ids() if agent_id.startswith(beginning)]
