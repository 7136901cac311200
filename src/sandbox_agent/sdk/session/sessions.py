"""`client.sessions`: create, find, resume and end sessions; the store is the list of them."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TypedDict, Unpack

from sandbox_agent.sdk.errors import SandboxAgentError, SessionAlreadyExistsError, SessionNotFoundError
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.keyed_locks import KeyedLocks
from sandbox_agent.sdk.opening import Opening
from sandbox_agent.sdk.option_values import check_values
from sandbox_agent.sdk.session.channel.session_channel import SessionChannel
from sandbox_agent.sdk.session.history.checkpoints import mapped_history
from sandbox_agent.sdk.session.history.history_pager import HistoryPager, page_limit
from sandbox_agent.sdk.session.history.restorer import RestorePolicy
from sandbox_agent.sdk.session.history.session_export import export_session
from sandbox_agent.sdk.session.instances.instance_pool import InstancePool
from sandbox_agent.sdk.session.permissions.callbacks import Handlers, LiveOptions
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.sdk.session.session_factory import SessionDefaults, SessionFactory
from sandbox_agent.sdk.session.session_options import (
    SessionOptions,
    check_callbacks,
    check_options,
)
from sandbox_agent.sdk.session.skills.session_skills import SessionSkills
from sandbox_agent.sdk.stores import Order, SessionRecord
from sandbox_agent.sdk.transcripts.transcript import TranscriptFormat
from sandbox_agent.sdk.universal import UniversalEvent, notes

log = logging.getLogger("sandbox_agent")

PAGE = 100
# Histories of closed sessions that are being read page by page.
MAX_PAGERS = 8

# Aliases, because `list` means the method inside the class.
EventList = list[UniversalEvent]
EnvelopeList = list[Envelope]
RecordList = list[SessionRecord]


class _RestoreOption(TypedDict):
    restore: RestorePolicy | None


class AsyncSessions:
    """The sessions of one client."""

    def __init__(self, pool: InstancePool, defaults: SessionDefaults) -> None:
        self._pool = pool
        self._defaults = defaults
        self._factory = SessionFactory(pool, defaults, self)
        self._open: dict[str, AsyncSession] = {}
        self._locks = KeyedLocks()
        self._pagers: dict[tuple[str, int], HistoryPager] = {}

    @property
    def handlers(self) -> Handlers:
        """The callbacks of new sessions of this client; they may be changed."""
        return self._defaults.handlers

    def __len__(self) -> int:
        """The number of sessions that are open on this client."""
        return len(self._open)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}, {len(self)} open>"

    def create(self, agent: str, **options: Unpack[SessionOptions]) -> Opening[AsyncSession]:
        """Start a session with an agent, which is installed and started if necessary.

        `async with client.sessions.create("mock") as session` closes it at the end of the block.
        Sessions of one agent in one directory share a process unless `isolated` is True.
        """
        check_options(options)
        return Opening(self._created(agent, options))

    def resume(
        self, session_id: str, *, restore: RestorePolicy | None = None, **options: Unpack[LiveOptions]
    ) -> Opening[AsyncSession]:
        """Continue a stored session; `session.restored` says how it was restored."""
        check_callbacks(options)
        check_values({"restore": restore}, _RestoreOption)
        return Opening(self._resumed(session_id, restore, options))

    def resume_or_create(
        self, session_id: str, agent: str, **options: Unpack[SessionOptions]
    ) -> Opening[AsyncSession]:
        """Resume the session if it is stored, else create it with this id."""
        check_options(options)
        return Opening(self._resumed_or_created(session_id, agent, options))

    async def get(self, session_id: str) -> SessionRecord:
        """The stored record of a session; raises `SessionNotFoundError`."""
        record = await self._pool.store.get_session(session_id)
        if record is None:
            raise SessionNotFoundError(session_id)
        return record

    async def list(
        self,
        *,
        order: Order = "asc",
        archived: bool | None = None,
        offset: int = 0,
        limit: int | None = None,
    ) -> RecordList:
        """Stored sessions by creation time: all of them, or `limit` after skipping `offset`."""
        cursor: str | None = None
        found: RecordList = []
        wanted = None if limit is None else offset + limit
        while wanted is None or len(found) < wanted:
            page = await self._pool.store.list_sessions(
                cursor=cursor, limit=PAGE, order=order, archived=archived
            )
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
        return found[offset:wanted]

    async def events(self, session_id: str, offset: int = 0, limit: int | None = None) -> EventList:
        """Stored universal events of a session, all or a part; needs no agent."""
        known = self._open.get(session_id)
        if known is not None:
            return await known.events(offset, limit)
        return await self._pager(await self.get(session_id)).events(offset, page_limit(offset, limit))

    async def raw_events(self, session_id: str, offset: int = 0, limit: int | None = None) -> EnvelopeList:
        """Stored ACP messages of a session, in both directions, all or a part."""
        known = self._open.get(session_id)
        if known is not None:
            return await known.raw_events(offset, limit)
        return await self._pager(await self.get(session_id)).messages(offset, page_limit(offset, limit))

    async def export(self, session_id: str, format: TranscriptFormat = "markdown") -> str:
        """A stored conversation as text: `markdown`, `chat` (JSONL for training) or `atif`."""
        known = self._open.get(session_id)
        if known is not None:
            return await known.export(format)
        return await export_session(self._pool.store, session_id, format)

    async def terminate(self, session_id: str) -> None:
        """End a session, open or only stored; a second call does nothing."""
        known = self._open.get(session_id)
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
        closing = [session.aclose(keep_running=keep_running) for session in sessions]
        outcomes = await asyncio.gather(*closing, return_exceptions=True)
        for failure in outcomes:
            if failure is not None:
                raise failure

    async def _created(self, agent: str, options: SessionOptions) -> AsyncSession:
        own_id = options.get("id")
        if own_id is None:
            return await self._create(agent, options)
        async with self._locks.hold(own_id):
            return await self._create(agent, options)

    async def _resumed(
        self, session_id: str, restore: RestorePolicy | None, options: LiveOptions
    ) -> AsyncSession:
        async with self._locks.hold(session_id):
            return await self._resume(session_id, restore, options)

    async def _resumed_or_created(self, session_id: str, agent: str, options: SessionOptions) -> AsyncSession:
        options["id"] = session_id
        callbacks: LiveOptions = {
            "on_permission": options.get("on_permission"),
            "on_question": options.get("on_question"),
            "permission_timeout": options.get("permission_timeout"),
            "before_tool": options.get("before_tool"),
            "after_tool": options.get("after_tool"),
            "tools": options.get("tools") or (),
            "env": options.get("env"),
            "max_cost": options.get("max_cost"),
            "max_turns": options.get("max_turns"),
            "include_raw": options.get("include_raw", False),
        }
        async with self._locks.hold(session_id):
            if await self._pool.store.get_session(session_id) is None:
                try:
                    return await self._create(agent, options)
                except SessionAlreadyExistsError:
                    log.debug("session %s was created by another client at the same time", session_id)
            return await self._resume(session_id, None, callbacks)

    async def _create(self, agent: str, options: SessionOptions) -> AsyncSession:
        own_id = options.get("id")
        if own_id is not None and await self._pool.store.get_session(own_id) is not None:
            raise SessionAlreadyExistsError(own_id)
        session = await self._factory.create(agent.strip(), options)
        self._open[session.id] = session
        return session

    async def _resume(
        self, session_id: str, restore: RestorePolicy | None, options: LiveOptions
    ) -> AsyncSession:
        known = self._open.get(session_id)
        if known is not None and not known.info.ended:
            known.handlers.update(options)
            return known
        record = await self.get(session_id)
        if known is not None:
            await known.aclose()
        session = self._open[session_id] = await self._factory.restore(record, restore, options)
        return session

    def opened(self, session: AsyncSession) -> None:
        """Keep a session that a fork has made; called by the session."""
        self._open[session.id] = session

    def closed(self, session: AsyncSession) -> None:
        """Forget a session that was closed; called by the session."""
        if self._open.get(session.id) is session:
            del self._open[session.id]

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
        history = await mapped_history(self._pool.store, record.id, record.agent)
        if not history.mapper.ended:
            channel = SessionChannel(self._pool, record, Handlers(), history.mapper)
            await channel.remember(history.index)
            channel.writer.start()
            channel.note(notes.session_ended("terminated", "daemon"))
            try:
                await channel.flush()
            finally:
                await channel.writer.stop()
        await self._end_instance(record)
        skills = SessionSkills(self._pool, record.id, record.agent, record.session_init or {})
        await skills.release()

    async def _end_instance(self, record: SessionRecord) -> None:
        for other in await self.list():
            if other.id != record.id and other.server_id == record.server_id and other.destroyed_at is None:
                return
        try:
            instance = await self._pool.adopt(record)
            if instance is not None:
                await self._pool.release(instance)
        except SandboxAgentError:
            return
