"""Writes a session to its store: messages in their order, and changes of the record.

A store that fails, or does not answer, ends nothing. What it did not take stays in memory and is tried again,
with growing pauses, until it is stored. `flush` waits for that and raises after `patience_s` seconds without
success; a later `flush` tries again at once.
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any

from msgspec import Struct

from sandbox_agent.sdk.session.history.checkpoints import save_checkpoint
from sandbox_agent.sdk.small_event import SmallEvent
from sandbox_agent.sdk.stores import (
    Checkpoint,
    EventConflictError,
    EventRecord,
    SessionStore,
    StoreClosedError,
    StoreError,
    StoreUnavailableError,
)
from sandbox_agent.sdk.transport.retries import backoff

log = logging.getLogger("sandbox_agent")

STORE_PATIENCE_S = 60.0
# The longest pause between two attempts: a store that is back is noticed within this time.
LAST_PAUSE_S = 5.0
BATCH = 256
# Waiting does not help against these.
FINAL_ERRORS = (StoreClosedError, EventConflictError)


class _QueuedMessage(Struct, frozen=True, gc=False):
    record: EventRecord
    event_id: int | None
    held_by: asyncio.Future[Any] | None
    checkpoint: Checkpoint | None


@dataclass(slots=True)
class _Outage:
    """Since when the store has taken nothing, and why."""

    since: float
    attempt_began: float
    attempts: int = 0
    error: Exception | None = None


@dataclass(slots=True)
class _Position:
    """How many messages and changes there were, or are stored."""

    messages: int = 0
    changes: int = 0

    def reaches(self, other: _Position) -> bool:
        return self.messages >= other.messages and self.changes >= other.changes


@dataclass(slots=True)
class _Changes:
    fields: dict[str, Any] = field(default_factory=dict)
    count: int = 0


class StoreWriter:
    """The background writer of one session; it starts to write with `start`."""

    def __init__(self, store: SessionStore, session_id: str, patience_s: float = STORE_PATIENCE_S) -> None:
        self.started = False
        """The session is in the store."""
        self._store = store
        self._session_id = session_id
        self._patience_s = patience_s
        self._waiting: list[_QueuedMessage] = []
        self._changes = _Changes()
        self._added, self._stored = _Position(), _Position()
        self._task: asyncio.Task[None] | None = None
        self._outage: _Outage | None = None
        self._progress = SmallEvent()
        self._try_now = SmallEvent()

    @property
    def unsaved(self) -> int:
        """How many messages the store has not taken yet."""
        return len(self._waiting)

    def start(self) -> None:
        """Start to write: the session is in the store now."""
        self.started = True
        self._go_on()

    def add(
        self,
        record: EventRecord,
        event_id: int | None,
        held_by: asyncio.Future[Any] | None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        """Queue a message; it and those after it are stored after `held_by` is done.

        `checkpoint` is the state of the mapper after it.
        """
        self._waiting.append(_QueuedMessage(record, event_id, held_by, checkpoint))
        self._added.messages += 1
        self._go_on()

    def change(self, fields: dict[str, Any]) -> None:
        """Queue a change of the session's record."""
        self._changes.fields.update(fields)
        self._changes.count += 1
        self._added.changes += 1
        self._go_on()

    def discard_changes(self) -> None:
        """Forget queued changes: the record was stored as a whole."""
        self._stored.changes += self._changes.count
        self._changes = _Changes()

    async def flush(self, patience_s: float | None = None) -> None:
        """Wait until everything so far is stored; raises when the store takes nothing for `patience_s`."""
        patience = self._patience_s if patience_s is None else patience_s
        target = _Position(self._added.messages, self._added.changes)
        attempts = self._outage.attempts if self._outage is not None else 0
        self._try_now.set()
        self._go_on()
        while not self._stored.reaches(target):
            wait_s = self._patience_left(patience, attempts)
            try:
                await asyncio.wait_for(self._progress.wait(), wait_s)
            except TimeoutError:
                continue

    async def stop(self) -> None:
        """Stop writing in the background; only another `flush` would write what is left."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    def _patience_left(self, patience: float, attempts: int) -> float | None:
        """Seconds until the wait fails; None while the store works. Raises once it has failed."""
        outage = self._outage
        if outage is None:
            return None
        if isinstance(outage.error, FINAL_ERRORS):
            raise self._store_error(outage)
        now = asyncio.get_running_loop().time()
        left = outage.since + patience - now
        if left > 0:
            return left
        if outage.error is not None and outage.attempts > attempts:
            raise self._store_error(outage)
        # An attempt is under way: it may still succeed, but it may also never end.
        left = outage.attempt_began + max(patience, 1.0) - now
        if left > 0:
            return left
        raise self._store_error(outage)

    def _store_error(self, outage: _Outage) -> StoreError:
        """A new error object for each caller."""
        if isinstance(outage.error, FINAL_ERRORS):
            return outage.error.again()
        silent_s = asyncio.get_running_loop().time() - outage.since
        failure = StoreUnavailableError(
            f"the store has taken nothing for {silent_s:.1f} s ({outage.error or 'no answer'}); "
            f"{self.unsaved} messages of session {self._session_id!r} are in memory only"
        )
        failure.__cause__ = outage.error
        return failure

    def _go_on(self) -> None:
        if self.started and self._task is None and (self._waiting or self._changes.count):
            self._task = asyncio.create_task(self._write(), name=f"store {self._session_id}")

    async def _write(self) -> None:
        try:
            await self._write_all()
        finally:
            # Here and not in a callback of the task: what is added next must start another.
            if self._task is asyncio.current_task():
                self._task = None

    async def _write_all(self) -> None:
        while self._waiting or self._changes.count:
            batch = await self._next_batch()
            outage = self._begin_attempt()
            try:
                await self._store_changes()
                await self._store_messages(batch)
            except Exception as error:
                self._failed(outage, error)
                if isinstance(error, FINAL_ERRORS):
                    return
                await self._pause(outage)
            else:
                self._succeeded(batch)

    async def _next_batch(self) -> list[_QueuedMessage]:
        if not self._waiting:
            return []
        held = self._waiting[0].held_by
        if held is not None and not held.done():
            await asyncio.wait([held])
        batch: list[_QueuedMessage] = []
        for message in self._waiting:
            if len(batch) == BATCH or (message.held_by is not None and not message.held_by.done()):
                break
            batch.append(message)
        return batch

    async def _store_changes(self) -> None:
        taken = self._changes
        if not taken.count:
            return
        self._changes = _Changes()
        try:
            await self._store.patch_session(self._session_id, **taken.fields)
        except BaseException:
            self._changes.fields = {**taken.fields, **self._changes.fields}
            self._changes.count += taken.count
            raise
        self._stored.changes += taken.count

    async def _store_messages(self, batch: list[_QueuedMessage]) -> None:
        if not batch:
            return
        stored = await self._store.insert_events([message.record for message in batch])
        for message, placed in zip(batch, stored, strict=True):
            # Another index means that another client writes this session too: the state is not that of the
            # stored history.
            if message.checkpoint is not None and placed.event_index == message.checkpoint.event_index:
                await save_checkpoint(self._store, message.checkpoint)
        last = max(message.event_id or 0 for message in batch)
        if last:
            await self._store.patch_session(self._session_id, last_event_id=last)

    def _begin_attempt(self) -> _Outage:
        """Every attempt counts as an outage until it succeeds, because it may never end."""
        now = asyncio.get_running_loop().time()
        self._try_now.clear()
        if self._outage is None:
            self._outage = _Outage(now, now)
            self._tell()
        self._outage.attempt_began = now
        return self._outage

    def _failed(self, outage: _Outage, error: Exception) -> None:
        if outage.error is None:
            log.warning("session %s cannot be stored and is kept in memory: %s", self._session_id, error)
        outage.error = error
        outage.attempts += 1
        self._tell()

    def _succeeded(self, batch: list[_QueuedMessage]) -> None:
        del self._waiting[: len(batch)]
        self._stored.messages += len(batch)
        if self._outage is not None and self._outage.error is not None:
            log.warning("session %s is stored again", self._session_id)
        self._outage = None
        self._tell()

    async def _pause(self, outage: _Outage) -> None:
        try:
            await asyncio.wait_for(self._try_now.wait(), backoff(outage.attempts - 1, limit=LAST_PAUSE_S))
        except TimeoutError:
            return

    def _tell(self) -> None:
        progress, self._progress = self._progress, SmallEvent()
        progress.set()
