"""Ask installed agents themselves which models and modes they have, in the background.

One agent at a time, half a minute at most, and only agents for which a credential was found: the others
could not open a session. The answer is kept until the agent's program changes.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sandbox_agent.agents.catalog.session_options import Option, reported_options
from sandbox_agent.agents.launch.acp_handshake import Conversation, HandshakeFailed, conversation
from sandbox_agent.bridge.launch_spec import LaunchSpec

_LIMIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Report:
    """What an agent said about itself, or why it did not."""

    options: tuple[Option, ...] = ()
    error: str | None = None


class Prober:
    """Keeps one report per agent. Asking never waits."""

    def __init__(self) -> None:
        self._reports: dict[str, tuple[object, Report]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Semaphore(1)

    def report(
        self, agent_id: str, identity: object, prepare: Callable[[], Awaitable[LaunchSpec]]
    ) -> Report | None:
        """What is known of this agent; None until it was asked, which starts now if need be.

        `identity` changes when the agent's program does.
        """
        known = self._reports.get(agent_id)
        if known is not None and known[0] == identity:
            return known[1]
        if agent_id not in self._tasks:
            task = asyncio.create_task(self._ask(agent_id, identity, prepare))
            self._tasks[agent_id] = task
            task.add_done_callback(lambda _: self._tasks.pop(agent_id, None))
        return None

    async def aclose(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(
        self, agent_id: str, identity: object, prepare: Callable[[], Awaitable[LaunchSpec]]
    ) -> None:
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(_LIMIT_S):
                    report = await _open_session(await prepare())
            except TimeoutError:
                report = Report(error=f"the agent did not open a session within {_LIMIT_S:.0f} s")
            except (HandshakeFailed, OSError) as error:
                report = Report(error=str(error))
        self._reports[agent_id] = (identity, report)


async def _open_session(launch: LaunchSpec) -> Report:
    """A session in an empty directory, closed again if the agent can do that."""
    with tempfile.TemporaryDirectory(prefix="sandbox-agent-probe-") as directory:
        async with conversation(LaunchSpec(launch.argv, launch.env, directory)) as talk:
            about = await talk.initialize(_LIMIT_S)
            session = await talk.request("session/new", {"cwd": directory, "mcpServers": []}, _LIMIT_S)
            await _forget_session(talk, about, session)
            return Report(tuple(reported_options(session)))


async def _forget_session(talk: Conversation, about: dict[str, Any], session: dict[str, Any]) -> None:
    can = about.get("agentCapabilities") or {}
    session_can = can.get("sessionCapabilities") or {}
    for ability in ("close", "delete"):
        if ability in session_can:
            with suppress(HandshakeFailed):
                await talk.request(f"session/{ability}", {"sessionId": session.get("sessionId")}, 2)
