"""The names under which an agent gets an API key.

Claude reads ANTHROPIC_API_KEY and not CLAUDE_API_KEY; users set either. The catalogue lists the names of one
key (`keys`), and a key that is set under one of them is passed under all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox_agent.agents.catalog.agent_spec import AgentSpec


def other_names(spec: AgentSpec, variables: Mapping[str, str]) -> dict[str, str]:
    """The missing or empty names of each key in `variables`, with its value."""
    added: dict[str, str] = {}
    for names in spec.keys.values():
        value = next((variables[name] for name in names if variables.get(name, "").strip()), None)
        if value is not None:
            added |= {name: value for name in names if not variables.get(name, "").strip()}
    return added


def other_names_of_instance(spec: AgentSpec, variables: Mapping[str, str]) -> dict[str, str]:
    """The same for the variables of one instance. An empty value means "no key" and is passed on."""
    added: dict[str, str] = {}
    for names in spec.keys.values():
        given = [name for name in names if name in variables]
        if given:
            value = next((variables[name] for name in given if variables[name].strip()), "")
            added |= {name: value for name in names if name not in variables}
    return added
