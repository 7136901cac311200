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
from sandbox_agent.sdk.session.config.mcp_servers import mcp_servers
from sandbox_agent.sdk.session.config.session_config import InitialConfig, SessionConfig
from sandbox_agent.sdk.session.history.history_pager import read_history, replay_history
from sandbox_agent.sdk.session.history.restorer import Restored, RestorePolicy, Restorer, request_with_login
from sandbox_agent.sdk.session.instance_pool import InstanceKey, InstancePool
from sandbox_agent.sdk.session.permissions.callbacks import Handlers
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.sdk.session.session_channel import SessionChannel
from sandbox_agent.sdk.session.session_info import SessionSettings
from sandbox_agent.sdk.session.session_options import CallbackOptions, SessionOptions
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
    sandbox_id: str | None = None
    same_environment: bool = False
    """The server was started by this program and has its environment."""


class SessionFactory:
    """Creates and restores the sessions of one client."""

    def __init__(self, pool: InstancePool, defaults: SessionDefaults) -> None:
        self._pool = pool
        self._defaults = defaults

    async def create(self, agent: str, options: SessionOptions) -> AsyncSession:
        """Start a new session; nothing is left of one that fails."""
        handlers = self._handlers(options)
        given = dict(options.get("session_init") or {})
        directory = await self._pool.absolute(given.get("cwd") or options.get("directory"))
        isolation_key = uuid.uuid4().hex if options.get("isolated") else None
        key = InstanceKey(agent, directory, self._defaults.forms, isolation_key)
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
        if handlers.on_permission is not None:
            await self._pool.warn_if_never_asks(agent)
        channel = SessionChannel(self._pool, self._record(agent, options, init), handlers)
        not_applied: dict[str, str] = {}
        session = AsyncSession(channel, self._settings(key), Restored("created", not_applied=not_applied))
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
        self, record: SessionRecord, policy: RestorePolicy | None, options: CallbackOptions
    ) -> AsyncSession:
        """Connect a stored session to an agent again."""
        handlers = self._handlers(options)
        directory = await self._pool.absolute((record.session_init or {}).get("cwd"))
        key = InstanceKey(record.agent, directory, self._defaults.forms)
        channel = SessionChannel(self._pool, record, handlers)
        history = await read_history(self._pool.store, record.id)
        replay_history(history, channel.mapper)
        channel.remember(history)
        channel.recorder.start()
        settings = self._settings(key)
        restorer = Restorer(
            channel,
            key,
            replay_max_events=settings.replay_max_events,
            replay_max_chars=settings.replay_max_chars,
        )
        restored = await restorer.restore(policy or self._defaults.restore)
        if record.destroyed_at is not None:
            channel.change(destroyed_at=None)
        await channel.flush()
        return AsyncSession(channel, settings, restored)

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
        channel.enter(instance)
        try:
            not_applied = await channel.skills.provide(instance)
            await request_with_login(channel, "session/new", init)
            await channel.begin()
            not_applied |= await SessionConfig(channel).apply(initial)
            await channel.flush()
            return not_applied
        except BaseException:
            if channel.recorder.started:
                await session.terminate()
            else:
                await channel.leave()
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

    def _record(self, agent: str, options: SessionOptions, init: dict[str, Any]) -> SessionRecord:
        return SessionRecord(
            id=options.get("id") or str(uuid.uuid4()),
            agent=agent,
            agent_session_id="",
            last_connection_id="",
            created_at=int(time.time() * 1000),
            title=options.get("title"),
            metadata=dict(options.get("metadata") or {}) or None,
            session_init=init,
            sandbox_id=self._defaults.sandbox_id,
        )

    def _handlers(self, options: CallbackOptions) -> Handlers:
        common = self._defaults.handlers
        limit = options.get("permission_timeout")
        return replace(
            common,
            on_permission=options.get("on_permission") or common.on_permission,
            on_question=options.get("on_question") or common.on_question,
            permission_timeout=common.permission_timeout if limit is None else limit,
        )

    def _settings(self, key: InstanceKey) -> SessionSettings:
        return SessionSettings(
            key,
            self._defaults.restore,
            self._defaults.replay_max_events,
            self._defaults.replay_max_chars,
        )
