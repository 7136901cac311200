"""`client.sessions`: create, find, resume and end sessions; the store is the list of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Unpack

from sandbox_agent.sdk.errors import SandboxAgentError, SessionAlreadyExistsError, SessionNotFoundError
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.keyed_locks import KeyedLocks
from sandbox_agent.sdk.session.history.history_pager import HistoryPager, read_history, replay_history
from sandbox_agent.sdk.session.history.restorer import RestorePolicy
from sandbox_agent.sdk.session.instance_pool import InstancePool
from sandbox_agent.sdk.session.permissions.callbacks import Handlers
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.sdk.session.session_channel import SessionChannel
from sandbox_agent.sdk.session.session_factory import SessionDefaults, SessionFactory
from sandbox_agent.sdk.session.session_options import (
    CallbackOptions,
    SessionOptions,
    check_callbacks,
    check_options,
)
from sandbox_agent.sdk.session.skills.session_skills import SessionSkills
from sandbox_agent.sdk.stores import Order, SessionRecord
from sandbox_agent.sdk.universal import UniversalEvent, UniversalMapper, notes

PAGE = 100
# Histories of closed sessions that are being read page by page.
MAX_PAGERS = 8

# Aliases, because `list` means the method inside the class.
EventList = list[UniversalEvent]
EnvelopeList = list[Envelope]


class AsyncSessions:
    """The sessions of one client."""

    def __init__(self, pool: InstancePool, defaults: SessionDefaults) -> None:
        self._pool = pool
        self._defaults = defaults
        self._factory = SessionFactory(pool, defaults)
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
        own_id = options.get("id")
        if own_id is not None and await self._pool.store.get_session(own_id) is not None:
            raise SessionAlreadyExistsError(own_id)
        session = await self._factory.create(agent.strip(), options)
        self._open[session.id] = session
        return session

    async def resume(
        self, session_id: str, *, restore: RestorePolicy | None = None, **options: Unpack[CallbackOptions]
    ) -> AsyncSession:
        """Continue a stored session; `session.restored` says how it was restored."""
        check_callbacks(options)
        async with self._resuming.hold(session_id):
            known = self._open.get(session_id)
            if known is not None and not known.info.ended:
                return known
            record = await self.get(session_id)
            if known is not None:
                await known.aclose()
            session = self._open[session_id] = await self._factory.restore(record, restore, options)
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
        await self._end_stored(record)
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

    def _pager(self, record: SessionRecord) -> HistoryPager:
        """The pager of a session that is not open; the least recently used one is dropped."""
        key = (record.id, record.created_at)
        pager = self._pagers.pop(key, None) or HistoryPager(self._pool.store, record.id, record.agent)
        self._pagers[key] = pager
        while len(self._pagers) > MAX_PAGERS:
            del self._pagers[next(iter(self._pagers))]
        return pager

    async def _end_stored(self, record: SessionRecord) -> None:
        """End the agent process of a session that is not open, unless another session uses it."""
        mapper = UniversalMapper(record.id, agent=record.agent)
        replay_history(await read_history(self._pool.store, record.id), mapper)
        if not mapper.ended:
            channel = SessionChannel(self._pool, record, Handlers())
            channel.recorder.start()
            channel.note(notes.session_ended("terminated", "daemon"))
            await channel.flush()
        await self._end_instance(record)
        skills = SessionSkills(self._pool, record.id, record.agent, record.session_init or {})
        await skills.release()

    async def _end_instance(self, record: SessionRecord) -> None:
        async for other in self.list():
            if other.id != record.id and other.server_id == record.server_id and other.destroyed_at is None:
                return
        try:
            instance = await self._pool.adopt(record)
            if instance is not None:
                await self._pool.release(instance)
        except SandboxAgentError:
            return
