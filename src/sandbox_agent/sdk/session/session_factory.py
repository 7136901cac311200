"""Making sessions: a new one from the options of `create`, a live one from a stored record."""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.resources.config import AsyncConfig
from sandbox_agent.sdk.session.channel.session_channel import SessionChannel
from sandbox_agent.sdk.session.config.agent_options import check_system_prompt, with_agent_options
from sandbox_agent.sdk.session.config.mcp_servers import mcp_servers
from sandbox_agent.sdk.session.config.session_config import InitialConfig, SessionConfig
from sandbox_agent.sdk.session.config.session_title import tell_title, with_title
from sandbox_agent.sdk.session.history.checkpoints import mapped_history
from sandbox_agent.sdk.session.history.restorer import Restored, RestorePolicy, Restorer, request_with_login
from sandbox_agent.sdk.session.instances.instance_pool import InstanceKey, InstancePool
from sandbox_agent.sdk.session.permissions.callbacks import Handlers, LiveOptions
from sandbox_agent.sdk.session.session import AsyncSession, OpenSessions
from sandbox_agent.sdk.session.session_info import SessionSettings
from sandbox_agent.sdk.session.session_options import SessionOptions
from sandbox_agent.sdk.stores import SessionRecord
from sandbox_agent.sdk.universal import meta

log = logging.getLogger("sandbox_agent")


@dataclass(slots=True)
class SessionDefaults:
    """The settings that every session of a client starts with."""

    handlers: Handlers
    restore: RestorePolicy = "auto"
    replay_max_events: int = 50
    replay_max_chars: int = 12_000
    forms: bool = True
    """Offer form elicitation, in which agents such as Claude ask their questions."""
    acp_version: int = 1
    """The version of ACP that agents are offered."""
    sandbox_id: str | None = None
    same_environment: bool = False
    """The server was started by this program and has its environment."""


class SessionFactory:
    """Creates and restores the sessions of one client."""

    def __init__(self, pool: InstancePool, defaults: SessionDefaults, sessions: OpenSessions) -> None:
        self._pool = pool
        self._defaults = defaults
        self._sessions = sessions

    async def create(self, agent: str, options: SessionOptions) -> AsyncSession:
        """Start a new session; nothing is left of one that fails."""
        handlers = self._handlers(options)
        given = dict(options.get("session_init") or {})
        directory = await self._pool.absolute(given.get("cwd") or options.get("directory"))
        session_id = options.get("id") or str(uuid.uuid4())
        isolated = bool(options.get("isolated"))
        key = self._key(agent, directory, session_id, isolated=isolated, env=options.get("env"))
        servers = await self._mcp_servers(directory, options)
        init = meta.with_session_request(
            {**given, "cwd": directory, "mcpServers": [*given.get("mcpServers", ()), *servers]},
            agent=agent,
            requested_session_id=options.get("id"),
            agent_version=options.get("agent_version"),
            title=options.get("title"),
            skills=options.get("skills"),
            directory_config=options.get("use_directory_config", False),
            permission_mode=options.get("permission_mode"),
            mode=options.get("mode"),
            model=options.get("model"),
        )
        init = meta.with_meta(init, isolated=True) if isolated else init
        if options.get("env"):
            # The names only: values may be secrets.
            init = meta.with_meta(init, envNames=sorted(options.get("env") or {}))
        init = await with_agent_options(self._pool.api, agent, init, options)
        init = with_title(agent, init, options.get("title"))
        if handlers.on_permission is not None:
            await self._pool.warn_if_never_asks(agent)
        record = self._record(session_id, agent, options, init)
        include_raw = options.get("include_raw", False)
        channel = SessionChannel(self._pool, record, handlers, include_raw=include_raw)
        channel.tools.use(options.get("tools") or ())
        not_applied: dict[str, str] = {}
        restored = Restored("created", not_applied=not_applied)
        session = AsyncSession(channel, self._settings(key, options), restored, self._sessions)
        initial = InitialConfig(
            options.get("mode"),
            options.get("model"),
            options.get("thought_level"),
            options.get("permission_mode"),
            options.get("options") or {},
        )
        not_applied |= await self._start(channel, session, key, init, initial)
        for what, reason in not_applied.items():
            log.warning("session %s: %s was not applied: %s", session.id, what, reason)
        return session

    async def restore(
        self, record: SessionRecord, policy: RestorePolicy | None, options: LiveOptions
    ) -> AsyncSession:
        """Connect a stored session to an agent again."""
        handlers = self._handlers(options)
        directory = await self._pool.absolute((record.session_init or {}).get("cwd"))
        isolated = meta.product_meta(record.session_init or {}).get("isolated") is True
        key = self._key(record.agent, directory, record.id, isolated=isolated, env=options.get("env"))
        history = await mapped_history(
            self._pool.store, record.id, record.agent, include_raw=options.get("include_raw", False)
        )
        channel = SessionChannel(self._pool, record, handlers, history.mapper)
        channel.tools.use(options.get("tools") or ())
        await channel.remember(history.index)
        channel.writer.start()
        settings = self._settings(key, options)
        restorer = Restorer(
            channel,
            key,
            replay_max_events=settings.replay_max_events,
            replay_max_chars=settings.replay_max_chars,
        )
        restored = await restorer.restore(policy or self._defaults.restore)
        restored = _without_env(restored, record, options)
        if record.destroyed_at is not None:
            channel.change(destroyed_at=None)
        await channel.settle()
        return AsyncSession(channel, settings, restored, self._sessions)

    async def _start(
        self,
        channel: SessionChannel,
        session: AsyncSession,
        key: InstanceKey,
        init: dict[str, Any],
        initial: InitialConfig,
    ) -> dict[str, str]:
        """Open the session in the agent; returns what could not be applied, and why."""
        instance = await self._pool.acquire(key)
        channel.binding.enter(instance)
        try:
            not_applied = await channel.skills.provide(instance)
            await channel.tools.provide(instance.server_id)
            check_system_prompt(instance, init)
            await request_with_login(channel, "session/new", init)
            await channel.begin()
            not_applied |= await SessionConfig(channel).apply(initial)
            not_applied |= await tell_title(channel)
            await channel.settle()
            return not_applied
        except BaseException:
            if channel.writer.started:
                await session.terminate()
            else:
                await channel.tools.close()
                await channel.binding.leave()
                await channel.skills.release()
            raise

    async def _mcp_servers(self, directory: str, options: SessionOptions) -> list[Envelope]:
        given = dict(options.get("mcp") or {})
        stored: dict[str, Mapping[str, Any]] = {}
        if options.get("use_directory_config", False):
            stored.update(await AsyncConfig(self._pool.api).mcp.list(directory))
        # An agent can write the stored entries: they get variables of this program only if it shares its
        # environment with the agents anyway.
        environment: dict[str, str] | None = None if self._defaults.same_environment else {}
        return [
            *mcp_servers({n: e for n, e in stored.items() if n not in given}, directory, environment),
            *mcp_servers(given, directory),
        ]

    def _key(
        self, agent: str, directory: str, session_id: str, *, isolated: bool, env: Mapping[str, str] | None
    ) -> InstanceKey:
        own = session_id if isolated else None
        variables = tuple(sorted((env or {}).items()))
        return InstanceKey(agent, directory, self._defaults.forms, own, self._defaults.acp_version, variables)

    def _record(
        self, session_id: str, agent: str, options: SessionOptions, init: dict[str, Any]
    ) -> SessionRecord:
        return SessionRecord(
            id=session_id,
            agent=agent,
            agent_session_id="",
            last_connection_id="",
            created_at=int(time.time() * 1000),
            title=options.get("title"),
            metadata=dict(options.get("metadata") or {}) or None,
            session_init=init,
            sandbox_id=self._defaults.sandbox_id,
        )

    def _handlers(self, options: LiveOptions) -> Handlers:
        handlers = replace(self._defaults.handlers)
        handlers.update(options)
        return handlers

    def _settings(self, key: InstanceKey, options: LiveOptions) -> SessionSettings:
        return SessionSettings(
            key,
            self._defaults.restore,
            self._defaults.replay_max_events,
            self._defaults.replay_max_chars,
            options.get("max_cost"),
            options.get("max_turns"),
        )


def _without_env(restored: Restored, record: SessionRecord, options: LiveOptions) -> Restored:
    """Name the variables that the agent was created with and that were not given again."""
    names = meta.product_meta(record.session_init or {}).get("envNames") or []
    missing = [name for name in names if name not in (options.get("env") or {})]
    if not missing or restored.method == "reattached":
        return restored
    reason = f"values are not stored; give {', '.join(missing)} to resume(env=...)"
    log.warning("session %s: env was not applied: %s", record.id, reason)
    return replace(restored, not_applied={**restored.not_applied, "env": reason})
