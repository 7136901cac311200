"""Reading a stored history from a checkpoint of the mapper instead of from its first message.

The recorder saves a checkpoint every 1,000 messages, or less often while the state of the mapper is large; so
does the first reader of a history without them. Mapping goes on in portions, so that a long history does not
stop the event loop.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass

from sandbox_agent.sdk.stores import Checkpoint, CheckpointStore, EventRecord, SessionStore, StoreError
from sandbox_agent.sdk.universal import UniversalEvent, UniversalMapper, mapping_version

log = logging.getLogger("sandbox_agent")

SPAN = 1000
# Checkpoints take at most this many bytes per message of the history.
BYTES_PER_MESSAGE = 64
PAGE = 500
# Messages that are mapped before the loop runs other tasks; they take 5 to 10 ms.
PORTION = 100


@dataclass(slots=True)
class MappedHistory:
    """A mapper, and the index of the last message that it was fed."""

    mapper: UniversalMapper
    index: int = 0


class CheckpointSchedule:
    """When the next checkpoint of a growing history is due."""

    def __init__(self, index: int = 0) -> None:
        self._next = index + SPAN

    def take(self, session_id: str, mapper: UniversalMapper, index: int) -> Checkpoint | None:
        """A checkpoint after the message `index`, if one is due."""
        if index < self._next:
            return None
        state = mapper.state()
        self._next = index + max(SPAN, len(state or "") // BYTES_PER_MESSAGE)
        if state is None:
            return None
        return Checkpoint(
            session_id=session_id,
            event_index=index,
            sequence=mapper.sequence,
            version=mapping_version(),
            state=state,
        )


async def save_checkpoint(store: SessionStore, checkpoint: Checkpoint) -> None:
    """Keep a checkpoint if the store can; a failure costs time later, and nothing else."""
    if isinstance(store, CheckpointStore):
        try:
            await store.save_checkpoint(checkpoint)
        except StoreError as error:
            log.debug("no checkpoint of session %s: %s", checkpoint.session_id, error)


async def mapped_up_to(
    store: SessionStore,
    session_id: str,
    agent: str,
    sequence: int | None = None,
    *,
    include_raw: bool = False,
) -> MappedHistory:
    """A mapper at the last checkpoint at or before the event `sequence`, or at the start."""
    state: str | None = None
    index = 0
    if isinstance(store, CheckpointStore):
        found = await store.find_checkpoint(session_id, mapping_version(), max_sequence=sequence)
        if found is not None:
            state, index = found.state, found.event_index
    return MappedHistory(
        UniversalMapper(session_id, agent=agent, state=state, include_raw=include_raw), index
    )


async def map_on(
    store: SessionStore, session_id: str, history: MappedHistory
) -> AsyncIterator[tuple[EventRecord, list[UniversalEvent]]]:
    """Feed the rest of the stored messages to the mapper; the loop runs other tasks in between."""
    schedule = CheckpointSchedule(history.index)
    while True:
        page = await store.list_events(session_id, after_index=history.index, limit=PAGE)
        for number, record in enumerate(page.items, 1):
            events = history.mapper.feed(dict(record.payload), record.sender, time=record.created_at)
            history.index = record.event_index
            if (checkpoint := schedule.take(session_id, history.mapper, history.index)) is not None:
                await save_checkpoint(store, checkpoint)
            yield record, events
            if number % PORTION == 0:
                await asyncio.sleep(0)
        if page.next_cursor is None:
            return


async def mapped_history(
    store: SessionStore, session_id: str, agent: str, *, include_raw: bool = False
) -> MappedHistory:
    """A mapper that has seen the whole stored history."""
    history = await mapped_up_to(store, session_id, agent, include_raw=include_raw)
    async for _ in map_on(store, session_id, history):
        pass
    return history
