"""Variables that agents, processes of users and installers inherit: all but those of this server only."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

# A secret, and the agents that were given to this server.
_OF_THE_SERVER = frozenset({"SANDBOX_AGENT_TOKEN", "SANDBOX_AGENT_AGENTS"})


def inherited_environment(environ: Mapping[str, str], allowed: Collection[str] = ()) -> dict[str, str]:
    """The inherited part of `environ`; with `allowed` (--agent-env-allow) only the variables named there."""
    return {
        name: value
        for name, value in environ.items()
        if name not in _OF_THE_SERVER and (not allowed or name in allowed)
    }
