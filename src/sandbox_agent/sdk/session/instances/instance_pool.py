"""The agent instances of one client: shared where that is safe, ended with their last session.

Sessions of one agent in one directory share a process. The pool counts the users of each instance and
deletes the instance on the server when the last user releases it, so no process outlives its sessions.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike, fspath
from posixpath import join, normpath
from typing import Any

from sandbox_agent.sdk.errors import (
    AgentExitedError,
    APIStatusError,
    SandboxAgentError,
    UnsupportedAgentError,
)
from sandbox_agent.sdk.keyed_locks import KeyedLocks
from sandbox_agent.sdk.resources.agents import AsyncAgents
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.resources.install_progress import InstallWatch, OnInstallProgress
from sandbox_agent.sdk.session.history.store_writer import STORE_PATIENCE_S
from sandbox_agent.sdk.session.instances.agent_instance import AgentInstance
from sandbox_agent.sdk.session.skills.skill_directory import SkillDirectory
from sandbox_agent.sdk.stores import SessionRecord, SessionStore
from sandbox_agent.sdk.transport.http_api import HttpApi
from sandbox_agent.sdk.transport.streams.shared_streams import SharedStreams

log = logging.getLogger("sandbox_agent")

# So many directories are remembered; the oldest would only be swept a second time.
SKILL_DIRECTORIES = 256


@dataclass(frozen=True, slots=True)
class InstanceKey:
    """Sessions with equal keys share a process."""

    agent: str
    directory: str
    forms: bool
    isolation_key: str | None = None
    """The id of an isolated session, which has a process of its own."""
    acp_version: int = 1
    env: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Variables of the process, which may be secrets."""


class InstancePool:
    """Finds, starts and ends instances."""

    def __init__(
        self,
        api: HttpApi,
        store: SessionStore,
        *,
        store_patience_s: float = STORE_PATIENCE_S,
        server_alive: Callable[[], bool] | None = None,
        default_directory: str | None = None,
        on_install_progress: OnInstallProgress | None = None,
    ) -> None:
        self._installs = InstallWatch(api, on_install_progress)
        self.api = api
        self.store = store
        self.store_patience_s = store_patience_s
        self._server_alive = server_alive
        self._directory = default_directory
        self._shared: dict[InstanceKey, AgentInstance] = {}
        self._users: dict[AgentInstance, int] = {}
        self._streams = SharedStreams(api)
        self._locks = KeyedLocks()
        self._checked_agents: set[str] = set()
        self._skill_directories: dict[str, SkillDirectory] = {}

    def skill_directory(self, directory: str) -> SkillDirectory:
        """The installed skills of a directory of the sandbox."""
        known = self._skill_directories.get(directory)
        if known is None:
            if len(self._skill_directories) >= SKILL_DIRECTORIES:
                del self._skill_directories[next(iter(self._skill_directories))]
            known = self._skill_directories[directory] = SkillDirectory(self.api, directory)
        return known

    async def default_directory(self) -> str:
        """The directory of sessions that name none: the configured one, else the server's home directory."""
        if self._directory is None:
            self._directory = normpath((await AsyncFiles(self.api).stat(".")).path)
        return self._directory

    async def absolute(self, given: str | PathLike[str] | None) -> str:
        """A directory of the sandbox as an absolute path."""
        directory = None if given is None else fspath(given)
        if directory is not None and directory.startswith("/"):
            return directory
        base = await self.default_directory()
        return base if not directory else normpath(join(base, directory))

    async def warn_if_never_asks(self, agent: str) -> None:
        """Warn, once per agent, that its tools run without a call of `on_permission`."""
        if agent in self._checked_agents:
            return
        self._checked_agents.add(agent)
        try:
            info = await AsyncAgents(self.api).get(agent)
        except SandboxAgentError:
            return  # The start of the agent reports what is wrong.
        if info.never_asks:
            log.warning("%s never asks for permission: on_permission is not called, every tool runs", agent)

    async def acquire(self, key: InstanceKey) -> AgentInstance:
        """A live instance for `key`, started if there is none; `release` it when done."""
        async with self._locks.hold(key):
            known = self._shared.get(key)
            if known is None or known.lost is not None:
                self._shared[key] = known = await self._start(key, known)
            self._users[known] = self._users.get(known, 0) + 1
            return known

    def share(self, instance: AgentInstance) -> None:
        """Count another user of an instance in use; `release` it when done."""
        self._users[instance] += 1

    async def adopt(self, record: SessionRecord) -> AgentInstance | None:
        """The instance a stored session ran in, if that very process still runs; else None."""
        for instance in self._users:
            if instance.server_id == record.server_id and instance.lost is None:
                self._users[instance] += 1
                return instance
        if record.server_id is None or record.server_created_at is None:
            return None
        instance = AgentInstance(
            self.api,
            record.server_id,
            record.agent,
            after=record.last_event_id,
            server_alive=self._server_alive,
            shared=self._streams,
        )
        facts = await instance.connection.status.facts()
        if facts is None or facts.get("createdAtMs") != record.server_created_at:
            return None
        if facts.get("status", "running") != "running":
            return None
        instance.created_at_ms = record.server_created_at
        instance.init_result = dict(record.init_result or {})
        self._users[instance] = 1
        return instance

    async def release(self, instance: AgentInstance, *, restoring: bool = False) -> None:
        """Release an instance; it is ended with its last user.

        The server lists a dead process until it is deleted. With `restoring` it stays, because its successor
        under the same id continues the event numbers.
        """
        left = self._users.get(instance, 0) - 1
        if left > 0:
            self._users[instance] = left
            return
        self._users.pop(instance, None)
        keep = restoring and instance.lost is not None
        if not keep:
            for key in [key for key, one in self._shared.items() if one is instance]:
                del self._shared[key]
        await _end(instance, delete=not keep)

    async def close(self, *, keep_running: bool) -> None:
        """Release all instances and end them, unless `keep_running`."""
        known = set(self._users) | set(self._shared.values())
        self._users.clear()
        self._shared.clear()
        await asyncio.gather(*(_end(one, delete=not keep_running) for one in known))

    async def _start(self, key: InstanceKey, previous: AgentInstance | None) -> AgentInstance:
        if previous is not None and await _remembered(previous):
            try:
                return await self._open(key, previous.server_id, previous.connection.reader.last_event_id)
            except (APIStatusError, AgentExitedError) as error:
                log.debug("instance %s could not be started again: %s", previous.server_id, error)
                await _end(previous, delete=True)
        return await self._open(key, f"py-{key.agent}-{uuid.uuid4()}", None)

    async def _open(self, key: InstanceKey, server_id: str, after: int | None) -> AgentInstance:
        instance = AgentInstance(
            self.api,
            server_id,
            key.agent,
            after=after,
            server_alive=self._server_alive,
            shared=self._streams,
        )
        try:
            async with self._installs.start_of(key.agent):
                await instance.open(
                    key.directory, forms=key.forms, acp_version=key.acp_version, env=dict(key.env)
                )
        except BaseException as error:
            await asyncio.shield(_end(instance, delete=True))
            if isinstance(error, UnsupportedAgentError):
                error.offer(await self._agent_ids())
            raise
        return instance

    async def _agent_ids(self) -> list[str]:
        try:
            return [agent.id for agent in await AsyncAgents(self.api).list()]
        except SandboxAgentError:
            return []


async def _remembered(instance: AgentInstance) -> bool:
    """Whether the server still lists this very instance, so that its successor continues its numbers."""
    if not isinstance(instance.lost, AgentExitedError) or instance.lost.vanished:
        return False
    facts = await instance.connection.status.facts()
    return facts is not None and facts.get("createdAtMs") == instance.created_at_ms


async def _end(instance: AgentInstance, *, delete: bool) -> None:
    try:
        await instance.connection.close(delete=delete)
    except SandboxAgentError as error:
        log.debug("instance %s could not be deleted: %s", instance.server_id, error)


def instance_facts(instance: AgentInstance) -> dict[str, Any]:
    """The fields of a session record that say where the session runs."""
    return {
        "server_id": instance.server_id,
        "server_created_at": instance.created_at_ms,
        "last_connection_id": instance.server_id,
        "init_result": instance.init_result,
    }
