"""`session.fork()`: a copy of a session in the agent (`session/fork`), and of its history in the store."""

from __future__ import annotations

import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace

from sandbox_agent.sdk.errors import (
    ConcurrentPromptError,
    SessionAlreadyExistsError,
    UnsupportedSessionOptionError,
)
from sandbox_agent.sdk.session.channel.session_channel import SessionChannel
from sandbox_agent.sdk.session.history.checkpoints import mapped_history
from sandbox_agent.sdk.session.history.restorer import request_with_login
from sandbox_agent.sdk.session.instances.agent_instance import AgentInstance
from sandbox_agent.sdk.stores import EventRecord, SessionRecord, SessionStore
from sandbox_agent.sdk.universal import meta

PAGE = 500


async def fork_channel(source: SessionChannel, new_id: str | None, title: str | None) -> SessionChannel:
    """A channel to a copy of an idle session, in the same process; nothing is left of one that fails."""
    instance = _able_instance(source)
    if source.mapper.open_turn_ids:
        raise ConcurrentPromptError(source.record.id)
    await source.flush()
    store, record = source.pool.store, _new_record(source.record, new_id, title)
    if not await store.insert_session(record):
        raise SessionAlreadyExistsError(record.id)
    try:
        async for events in _copied_history(store, source.record.id, record.id):
            await store.insert_events(events)
        return await _opened(source, record, instance)
    except BaseException:
        await store.delete_session(record.id)
        raise


async def _opened(source: SessionChannel, record: SessionRecord, instance: AgentInstance) -> SessionChannel:
    history = await mapped_history(source.pool.store, record.id, record.agent)
    channel = SessionChannel(source.pool, record, replace(source.requests.handlers), history.mapper)
    channel.tools.use(source.tools.functions)
    await channel.remember(history.index)
    channel.writer.start()
    source.pool.share(instance)
    channel.binding.enter(instance)
    try:
        await channel.tools.provide(instance.server_id)
        init = record.session_init or {}
        params = {"cwd": init.get("cwd"), "mcpServers": init.get("mcpServers", [])}
        await request_with_login(channel, "session/fork", {"sessionId": source.native_id, **params})
        await channel.settle()
    except BaseException:
        await channel.tools.close()
        await channel.binding.leave()
        await channel.writer.stop()
        raise
    return channel


def _able_instance(source: SessionChannel) -> AgentInstance:
    instance = source.instance
    if instance is None or not instance.offers("sessionCapabilities", "fork"):
        raise UnsupportedSessionOptionError("fork", source.record.agent, "it does not offer session/fork")
    return instance


def _new_record(source: SessionRecord, new_id: str | None, title: str | None) -> SessionRecord:
    return replace(
        source,
        id=new_id or str(uuid.uuid4()),
        agent_session_id="",
        last_connection_id="",
        created_at=int(time.time() * 1000),
        destroyed_at=None,
        archived_at=None,
        title=title if title is not None else source.title,
        session_init=meta.with_meta(source.session_init or {}, forkedFrom=source.id),
        server_id=None,
        server_created_at=None,
        last_event_id=None,
    )


async def _copied_history(store: SessionStore, source: str, target: str) -> AsyncIterator[list[EventRecord]]:
    cursor: str | None = None
    while True:
        page = await store.list_events(source, limit=PAGE, cursor=cursor)
        if page.items:
            yield [
                EventRecord(
                    session_id=target,
                    sender=one.sender,
                    payload=one.payload,
                    created_at=one.created_at,
                    connection_id=one.connection_id,
                )
                for one in page.items
            ]
        cursor = page.next_cursor
        if cursor is None:
            return
