"""Which provider `start` uses: the one it is given, or the one for a server on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.providers.given_agents import GivenAgents, agent_tables
from sandbox_agent.sdk.providers.local_provider import LocalProvider
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider
from sandbox_agent.sdk.providers.spawn_options import SpawnOptions


def choose_provider(
    sandbox: SandboxProvider | None,
    spawn: SpawnOptions | Mapping[str, Any] | bool | None,
    agents: GivenAgents | None,
) -> SandboxProvider | None:
    """The provider that makes the server; None for `spawn=False`, which starts none."""
    if sandbox is not None and spawn is not None:
        raise TypeError("spawn has the options of a local server; a provider starts its own")
    if sandbox is None and spawn is False:
        if agents is not None:
            raise ValueError("agents= is for a server that start() makes, and spawn=False starts none")
        return None
    if sandbox is not None and not isinstance(sandbox, SandboxProvider):
        raise TypeError(
            f"start() takes a SandboxProvider, not {sandbox!r}; connect(base_url) uses a server that runs"
        )
    provider = sandbox or LocalProvider(SpawnOptions.of(spawn))
    return provider if agents is None else provider.with_agents(agent_tables(agents))
