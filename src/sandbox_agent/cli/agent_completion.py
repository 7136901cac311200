"""Names of agents for shell completion."""

from __future__ import annotations

import click

from sandbox_agent.agents.catalog.catalog import BUILTIN_IDS


def offer_agents(_: click.Context, __: click.Parameter, beginning: str) -> list[str]:
    """The built-in agents whose name begins like that."""
    return [agent_id for agent_id in BUILTIN_IDS if agent_id.startswith(beginning)]
