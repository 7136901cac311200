"""`client.sessions`: create, find, resume and end sessions; the store is the list of them."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

from sandbox_agent.sdk.errors import SandboxAgentError, SessionAlreadyExistsError, SessionNotFoundError
from sandbox_agent.sdk.json_rpc import Envelope
from sandbox_agent.sdk.keyed_locks import KeyedLocks
from sandbox_agent.sdk.resources.agents import AsyncAgents
from sandbox_agent.sdk.resources.config import AsyncConfig
from sandbox_agent.sdk.session.config.mcp_servers import mcp_servers
from sandbox_agent.sdk.session.config.session_config import InitialConfig, SessionConfig
from sandbox_agent.sdk.session.history.history_pager import HistoryPager, read_history, replay_history
from sandbox_agent.sdk.session.history.restorer import Restored, RestorePolicy, Restorer, request_with_login
from sandbox_agent.sdk.session.instance_pool import InstanceKey, InstancePool
from sandbox_agent.sdk.session.pending_requests import Handlers
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.sdk.session.session_channel import SessionChannel
from sandbox_agent.sdk.session.session_info import SessionSettings
from sandbox_agent.sdk.session.session_options import (
    CallbackOptions,
    SessionOptions,
    check_callbacks,
    check_options,
)
from sandbox_agent.sdk.stores import Order, SessionRecord
from sandbox_agent.sdk.universal import UniversalEvent, UniversalMapper, meta, notes

PAGE = 100
# Histories of closed sessions that are being read page by page.
MAX_PAGERS = 8

# Aliases, because `list` means the method inside the class.
EventList = list[UniversalEvent]
EnvelopeList = list[Envelope]


@dataclass(slots=True)
class SessionDefaults:
    """The settings that every session of a client starts with."""

    handlers: Handlers
    restore: RestorePolicy = "auto"
    replay_max_events: int = 50
    replay_max_chars: int = 12_000
    forms: bool | None = None
    sandbox_id: str | None = None


class AsyncSessions:
    """The sessions of one client."""

    def __init__(self, pool: InstancePool, defaults: SessionDefaults) -> None:
        self._pool = pool
        self._defaults = defaults
        self._open: dict[str, AsyncSession] = {}
        self._resuming = KeyedLocks()
        self._pagers: dict[tuple[str, int], HistoryPager] = {}

    @property
    def handlers(self) -> Handlers:
        """The callbacks of new sessions of this client; they may be changed."""
        return self._defaults.handlers

    async def create(self, agent: str, **options: Unpack[SessionOptions]) -> AsyncSession:
        """Start a session with an agent, which is installed and started if necessary.

        Sessions of one agent in one directory share a process unless `isolated` is True.
        """
        check_options(options)
        name = agent.strip()
        own_id = options.get("id")
        if own_id is not None and await self._pool.store.get_session(own_id) is not None:
            raise SessionAlreadyExistsError(own_id)
        given = dict(options.get("session_init") or {})
        where = await self._pool.absolute(given.get("cwd") or options.get("directory"))
        handlers = self._handlers(options)
        alone = uuid.uuid4().hex if options.get("isolated") else None
        key = InstanceKey(name, where, self._forms(handlers), alone)
        servers = await self._mcp_servers(
            where, options.get("mcp"), from_directory=options.get("use_directory_config", False)
        )
        init = meta.with_session_request(
            {**given, "cwd": where, "mcpServers": [*given.get("mcpServers", ()), *servers]},
            agent=name,
            requested_session_id=own_id,
            agent_version=options.get("agent_version"),
            title=options.get("title"),
            skills=options.get("skills"),
            permission_mode=options.get("permission_mode"),
            mode=options.get("mode"),
            model=options.get("model"),
        )
        record = SessionRecord(
            id=own_id or str(uuid.uuid4()),
            agent=name,
            agent_session_id="",
            last_connection_id="",
            created_at=int(time.time() * 1000),
            title=options.get("title"),
            metadata=dict(options.get("metadata") or {}) or None,
            session_init=init,
            sandbox_id=self._defaults.sandbox_id,
        )
        channel = SessionChannel(self._pool, record, handlers)
        session = AsyncSession(channel, self._settings(key), Restored("created"))
        initial = InitialConfig(
            options.get("mode"),
            options.get("model"),
            options.get("thought_level"),
            options.get("permission_mode"),
            options.get("options") or {},
        )
        await self._start(channel, session, key, init, initial)
        self._open[session.id] = session
        return session

    async def resume(
        self, session_id: str, *, restore: RestorePolicy | None = None, **options: Unpack[CallbackOptions]
    ) -> AsyncSession:
        """Continue a stored session; `session.restored` says how it was restored."""
        check_callbacks(options)
        async with self._resuming.hold(session_id):
            return await self._resume(session_id, restore, options)

    async def _resume(
        self, session_id: str, restore: RestorePolicy | None, options: CallbackOptions
    ) -> AsyncSession:
        known = self._open.get(session_id)
        if known is not None and not known.info.ended:
            return known
        record = await self._pool.store.get_session(session_id)
        if record is None:
            raise SessionNotFoundError(session_id)
        if known is not None:
            await known.aclose()
        handlers = self._handlers(options)
        where = await self._pool.absolute((record.session_init or {}).get("cwd"))
        key = InstanceKey(record.agent, where, self._forms(handlers))
        channel = SessionChannel(self._pool, record, handlers)
        history = await read_history(self._pool.store, session_id)
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
        restored = await restorer.restore(restore or self._defaults.restore)
        if record.destroyed_at is not None:
            channel.change(destroyed_at=None)
        await channel.flush()
        session = AsyncSession(channel, settings, restored)
        self._open[session_id] = session
        return session

    async def resume_or_create(
        self, session_id: str, agent: str, **options: Unpack[SessionOptions]
    ) -> AsyncSession:
        """Resume the session if it is stored, else create it with this id."""
        check_options(options)
        if await self._pool.store.get_session(session_id) is None:
            options["id"] = session_id
            return await self.create(agent, **options)
        callbacks: CallbackOptions = {
            "on_permission": options.get("on_permission"),
            "on_question": options.get("on_question"),
            "permission_timeout": options.get("permission_timeout"),
        }
        return await self.resume(session_id, **callbacks)

    async def get(self, session_id: str) -> SessionRecord:
        """The stored record of a session; raises `SessionNotFoundError`."""
        record = await self._pool.store.get_session(session_id)
        if record is None:
            raise SessionNotFoundError(session_id)
        return record

    async def list(
        self, *, order: Order = "asc", archived: bool | None = None
    ) -> AsyncIterator[SessionRecord]:
        """All stored sessions; read from the store page by page."""
        cursor: str | None = None
        while True:
            page = await self._pool.store.list_sessions(
                cursor=cursor, limit=PAGE, order=order, archived=archived
            )
            for record in page.items:
                yield record
            cursor = page.next_cursor
            if cursor is None:
                return

    async def events(self, session_id: str, offset: int = 0, limit: int = 100) -> EventList:
        """Stored universal events of a session, skipping the first `offset`; needs no agent."""
        known = self._open.get(session_id)
        if known is not None:
            return await known.events(offset, limit)
        return await self._pager(await self.get(session_id)).events(offset, limit)

    async def raw_events(self, session_id: str, offset: int = 0, limit: int = 100) -> EnvelopeList:
        """Stored ACP messages of a session, in both directions, skipping the first `offset`."""
        known = self._open.get(session_id)
        if known is not None:
            return await known.raw_events(offset, limit)
        return await self._pager(await self.get(session_id)).messages(offset, limit)

    async def terminate(self, session_id: str) -> None:
        """End a session, open or only stored; a second call does nothing."""
        known = self._open.pop(session_id, None)
        if known is not None:
            await known.terminate()
            return
        record = await self.get(session_id)
        if record.destroyed_at is not None:
            return
        await self._end_leftover(record)
        await self._pool.store.patch_session(session_id, destroyed_at=int(time.time() * 1000))

    async def archive(self, session_id: str) -> None:
        """Hide a session from lists with `archived=False`; it can still be read and resumed."""
        if await self._pool.store.patch_session(session_id, archived_at=int(time.time() * 1000)) is None:
            raise SessionNotFoundError(session_id)

    async def forget(self, session_id: str) -> None:
        """End a session and delete it, with its history, from the store."""
        await self.terminate(session_id)
        await self._pool.store.delete_session(session_id)

    async def aclose(self, *, keep_running: bool) -> None:
        """Release every open session; called by the client."""
        sessions, self._open = list(self._open.values()), {}
        await asyncio.gather(*(session.aclose(keep_running=keep_running) for session in sessions))

    # -- internals --------------------------------------------------------------------------------------

    async def _start(
        self,
        channel: SessionChannel,
        session: AsyncSession,
        key: InstanceKey,
        init: dict[str, Any],
        initial: InitialConfig,
    ) -> None:
        channel.enter(await self._pool.acquire(key))
        try:
            await request_with_login(channel, "session/new", init)
            await channel.begin()
            await self._fill_options(channel)
            await SessionConfig(channel).apply(initial)
            await channel.flush()
        except BaseException:
            if channel.recorder.started:
                await session.terminate()
            else:
                await channel.leave()
            raise

    async def _fill_options(self, channel: SessionChannel) -> None:
        """Take the options from the catalogue if the agent reported none in the session."""
        if channel.record.config_options is not None or channel.record.modes is not None:
            return
        try:
            known = await AsyncAgents(self._pool.api).get(channel.record.agent, config=True)
        except SandboxAgentError:
            return
        if known.config_options:
            channel.change(config_options=known.config_options)

    async def _mcp_servers(
        self, directory: str, mcp: Mapping[str, Mapping[str, Any]] | None, *, from_directory: bool
    ) -> EnvelopeList:
        entries = dict(await AsyncConfig(self._pool.api).mcp.list(directory)) if from_directory else {}
        return mcp_servers({**entries, **dict(mcp or {})})

    def _pager(self, record: SessionRecord) -> HistoryPager:
        """The pager of a session that is not open; the least recently used one is dropped."""
        key = (record.id, record.created_at)
        pager = self._pagers.pop(key, None) or HistoryPager(self._pool.store, record.id, record.agent)
        self._pagers[key] = pager
        while len(self._pagers) > MAX_PAGERS:
            del self._pagers[next(iter(self._pagers))]
        return pager

    async def _end_leftover(self, record: SessionRecord) -> None:
        """End the agent process of a session that is not open, unless another session uses it."""
        mapper = UniversalMapper(record.id, agent=record.agent)
        replay_history(await read_history(self._pool.store, record.id), mapper)
        if not mapper.ended:
            channel = SessionChannel(self._pool, record, Handlers())
            channel.recorder.start()
            channel.note(notes.session_ended("terminated", "daemon"))
            await channel.flush()
        async for other in self.list():
            if other.id != record.id and other.server_id == record.server_id and other.destroyed_at is None:
                return
        try:
            instance = await self._pool.adopt(record)
            if instance is not None:
                await self._pool.release(instance)
        except SandboxAgentError:
            return

    def _handlers(self, options: CallbackOptions) -> Handlers:
        common = self._defaults.handlers
        limit = options.get("permission_timeout")
        return replace(
            common,
            on_permission=options.get("on_permission") or common.on_permission,
            on_question=options.get("on_question") or common.on_question,
            permission_timeout=common.permission_timeout if limit is None else limit,
        )

    def _forms(self, handlers: Handlers) -> bool:
        return handlers.on_question is not None if self._defaults.forms is None else self._defaults.forms

    def _settings(self, key: InstanceKey) -> SessionSettings:
        return SessionSettings(
            key,
            self._defaults.restore,
            self._defaults.replay_max_events,
            self._defaults.replay_max_chars,
        )
