"""The skills of one session: given to the agent before the session starts, taken away at its end."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.errors import SandboxAgentError
from sandbox_agent.sdk.resources.agents import AsyncAgents
from sandbox_agent.sdk.resources.config import AsyncConfig
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.session.instances.agent_instance import AgentInstance
from sandbox_agent.sdk.session.instances.instance_pool import InstancePool
from sandbox_agent.sdk.session.skills.discovery import fetch_skills
from sandbox_agent.sdk.session.skills.manifest import Holder
from sandbox_agent.sdk.session.skills.skill import Skill
from sandbox_agent.sdk.session.skills.skill_directory import SkillDirectory
from sandbox_agent.sdk.session.skills.skill_source import SkillSource, parse_sources
from sandbox_agent.sdk.universal import meta

log = logging.getLogger("sandbox_agent")


class SessionSkills:
    """What `skills` and `use_directory_config` of a session mean for its directory."""

    def __init__(self, pool: InstancePool, session_id: str, agent: str, init: Mapping[str, Any]) -> None:
        self._pool = pool
        self._session_id = session_id
        self._agent = agent
        self._directory = str(init.get("cwd") or "")
        self._requested = meta.product_meta(init)
        self._fetched: list[Skill] | None = None
        self._installed = False

    async def provide(self, instance: AgentInstance) -> dict[str, str]:
        """Install the skills for the agent; returns what could not be, and why.

        Raises `SkillSourceError` for a source that cannot be fetched.
        """
        directory = self._skill_directory()
        if directory is None:
            return {}
        skills = await self._fetch()
        if not skills:
            await self._sweep(directory)
            return {}
        folder = (await AsyncAgents(self._pool.api).get(self._agent)).skills_directory
        if folder is None:
            return {"skills": f"no directory for skills of the agent {self._agent} is known"}
        facts = await instance.connection.status.facts() or {}
        holder = Holder(instance.server_id, instance.created_at_ms, facts.get("pid"))
        self._installed = True
        refused = await directory.install(self._session_id, holder, skills, folder)
        return {f"skills.{name}": reason for name, reason in refused.items()}

    async def release(self) -> None:
        """Remove the skills that no other session uses. A failure leaves them to the next start."""
        directory = self._skill_directory()
        if directory is None or not (self._installed or self._asks_for_skills):
            return
        self._installed = False
        try:
            await directory.release(self._session_id)
        except SandboxAgentError as error:
            log.warning("the skills of session %s were not removed: %s", self._session_id, error)

    @property
    def _asks_for_skills(self) -> bool:
        return bool(self._requested.get("skills") or self._requested.get("directoryConfig"))

    async def _fetch(self) -> list[Skill]:
        """The skills of this session; fetched once, so a restored session gets the same ones."""
        if self._fetched is None:
            sources: list[SkillSource] = []
            if self._requested.get("directoryConfig") is True:
                entries = await AsyncConfig(self._pool.api).skills.list(self._directory)
                for name in sorted(entries):
                    sources += parse_sources(entries[name], trusted=False)
            if self._requested.get("skills") is not None:
                sources += parse_sources(self._requested["skills"], trusted=True)
            self._fetched = await fetch_skills(AsyncFiles(self._pool.api), self._directory, sources)
        return self._fetched

    async def _sweep(self, directory: SkillDirectory) -> None:
        try:
            await directory.sweep()
        except SandboxAgentError as error:
            log.debug("left-over skills in %s were not removed: %s", self._directory, error)

    def _skill_directory(self) -> SkillDirectory | None:
        return self._pool.skill_directory(self._directory) if self._directory else None
