"""Ask installed agents in the background which models and modes they have.

One agent at a time, for 30 s at most, and only agents for which a credential was found: the others cannot
open a session. The session is opened as the SDK opens one, with the login that an API key needs. The answer
is kept until the agent's program changes; a failure is kept for a minute, because a login may follow.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from sandbox_agent.agents.catalog.agent_spec import AgentSpec
from sandbox_agent.agents.inventory.config_options import Option, reported_options
from sandbox_agent.agents.launch.acp_probe import AcpProbe, ProbeFailed, open_probe
from sandbox_agent.bridge.launch_spec import LaunchSpec
from sandbox_agent.bridge.process.limits import ProcessLimits
from sandbox_agent.errors import SandboxAgentError

_LIMIT_S = 30.0
_RETRY_FAILED_AFTER_S = 60.0


@dataclass(frozen=True, slots=True)
class ProbedOptions:
    """The options an agent reported, or why it reported none."""

    options: tuple[Option, ...] = ()
    error: str | None = None
    asked_at: float = 0.0
    """When it was asked, on the monotonic clock."""

    @property
    def is_kept(self) -> bool:
        return self.error is None or time.monotonic() - self.asked_at < _RETRY_FAILED_AFTER_S


class OptionsProbe:
    """Keeps one result per agent; `options_of` never waits."""

    def __init__(self, limits: ProcessLimits, directory_of: Callable[[str], str]) -> None:
        """`directory_of` names the directory in which an agent is asked."""
        self._limits = limits
        self._directory_of = directory_of
        self._results: dict[str, tuple[object, ProbedOptions]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Semaphore(1)

    def options_of(
        self, agent: AgentSpec, identity: object, prepare: Callable[[], Awaitable[LaunchSpec]]
    ) -> ProbedOptions | None:
        """What the agent reported; None until it has been asked, which this call starts if necessary.

        `identity` must change when the agent's program changes.
        """
        known = self._results.get(agent.id)
        if known is not None and known[0] == identity and known[1].is_kept:
            return known[1]
        if agent.id not in self._tasks:
            task = asyncio.create_task(self._probe(agent, identity, prepare))
            self._tasks[agent.id] = task
            task.add_done_callback(lambda _: self._tasks.pop(agent.id, None))
        return None

    async def aclose(self) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _probe(
        self, agent: AgentSpec, identity: object, prepare: Callable[[], Awaitable[LaunchSpec]]
    ) -> None:
        async with self._one_at_a_time:
            try:
                async with asyncio.timeout(_LIMIT_S):
                    result = await self._open_session(await prepare(), agent)
            except TimeoutError:
                result = _failure(f"the agent did not open a session within {_LIMIT_S:.0f} s")
            except (ProbeFailed, SandboxAgentError, OSError) as error:
                result = _failure(str(error))
        self._results[agent.id] = (identity, result)

    async def _open_session(self, launch: LaunchSpec, agent: AgentSpec) -> ProbedOptions:
        """Open a session in an empty directory, and close it if the agent supports that.

        Some agents keep a folder in the user's home for every directory they have seen. The directory is
        always the same one, and its folders are removed when the agent has ended.
        """
        home = {**launch.env, **self._limits.environment()}.get("HOME")
        with _existing(self._directory_of(agent.id)) as directory:
            owner = self._limits.popen_arguments()
            if owner:
                os.chown(directory, owner["user"], owner["group"])
            try:
                async with open_probe(LaunchSpec(launch.argv, launch.env, directory), self._limits) as probe:
                    initialized = await probe.initialize(_LIMIT_S)
                    session = await probe.new_session(initialized, directory, _LIMIT_S)
                    await _close_session(probe, initialized, session)
                    return ProbedOptions(tuple(reported_options(session)))
            finally:
                if home and agent.session_folders:
                    name = os.path.basename(directory)
                    await asyncio.shield(
                        asyncio.to_thread(_remove_folders, home, agent.session_folders, name)
                    )


@contextmanager
def _existing(wanted: str) -> Iterator[str]:
    """The directory, or a temporary one where it cannot be made."""
    with suppress(OSError):
        os.makedirs(wanted, exist_ok=True)
    if os.access(wanted, os.W_OK):
        yield wanted
        return
    with tempfile.TemporaryDirectory(prefix="sandbox-agent-probe-") as directory:
        yield directory


def _remove_folders(home: str, folders: Sequence[str], name: str) -> None:
    """Remove the folders named after the probe's directory; each agent encodes its path in its own way."""
    for folder in folders:
        parent = os.path.join(home, folder)
        with suppress(OSError):
            for entry in os.listdir(parent):
                if name in entry:
                    shutil.rmtree(os.path.join(parent, entry), ignore_errors=True)


def _failure(reason: str) -> ProbedOptions:
    return ProbedOptions(error=reason, asked_at=time.monotonic())


async def _close_session(probe: AcpProbe, initialized: dict[str, Any], session: dict[str, Any]) -> None:
    capabilities = initialized.get("agentCapabilities") or {}
    supported = capabilities.get("sessionCapabilities") or {}
    for method in ("close", "delete"):
        if method in supported:
            with suppress(ProbeFailed):
                await probe.request(f"session/{method}", {"sessionId": session.get("sessionId")}, 2)
