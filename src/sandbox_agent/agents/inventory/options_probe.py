"""Ask installed agents in the background which models and modes they have.

One agent at a time, for 30 s at most, and only agents for which a credential was found: the others cannot
open a session. The answer is kept until the agent's program changes.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sandbox_agent.agents.inventory.config_options import Option, reported_options
from sandbox_agent.agents.launch.acp_probe import AcpProbe, ProbeFailed, open_probe
from sandbox_agent.bridge.launch_spec import LaunchSpec

_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class ProbedOptions:
    """The options an agent reported, or why it reported none."""

    options: tuple[Option, ...] = ()
    error: str | None = None


class OptionsProbe:
    """Keeps one result per agent; `options_of` never waits."""

    def __init__(self) -> None:
        self._results: dict[str, tuple[object, ProbedOptions]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Semaphore(1)

    def options_of(
        self, agent_id: str, identity: object, prepare: Callable[[], Awaitable[LaunchSpec]]
    ) -> ProbedOptions | None:
        """What the agent reported; None until it has been asked, which this call starts if necessary.

        `identity` must change when the agent's program changes.
        """
        known = self._results.get(agent_id)
        if known is not None and known[0] == identity:
            return known[1]
        if agent_id not in self._tasks:
            task = asyncio.create_task(self._probe(agent_id, identity, prepare))
            self._tasks[agent_id] = task
            task.add_done_callback(lambda _: self._tasks.pop(agent_id, None))
        return None

    async def aclose(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _probe(
        self, agent_id: str, identity: object, prepare: Callable[[], Awaitable[LaunchSpec]]
    ) -> None:
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(_LIMIT_S):
                    result = await _open_session(await prepare())
            except TimeoutError:
                result = ProbedOptions(error=f"the agent did not open a session within {_LIMIT_S:.0f} s")
            except (ProbeFailed, OSError) as error:
                result = ProbedOptions(error=str(error))
        self._results[agent_id] = (identity, result)


async def _open_session(launch: LaunchSpec) -> ProbedOptions:
    """Open a session in an empty directory, and close it if the agent supports that."""
    with tempfile.TemporaryDirectory(prefix="sandbox-agent-probe-") as directory:
        async with open_probe(LaunchSpec(launch.argv, launch.env, directory)) as probe:
            initialized = await probe.initialize(_LIMIT_S)
            session = await probe.request("session/new", {"cwd": directory, "mcpServers": []}, _LIMIT_S)
            await _close_session(probe, initialized, session)
            return ProbedOptions(tuple(reported_options(session)))


async def _close_session(probe: AcpProbe, initialized: dict[str, Any], session: dict[str, Any]) -> None:
    capabilities = initialized.get("agentCapabilities") or {}
    supported = capabilities.get("sessionCapabilities") or {}
    for method in ("close", "delete"):
        if method in supported:
            with suppress(ProbeFailed):
                await probe.request(f"session/{method}", {"sessionId": session.get("sessionId")}, 2)
