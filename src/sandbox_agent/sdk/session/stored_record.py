"""The record of a session: changed in memory at once, written to the store by a background task."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from sandbox_agent.sdk.errors import SessionNotFoundError
from sandbox_agent.sdk.session.history.recorder import Recorder
from sandbox_agent.sdk.stores import SessionRecord, SessionStore

# Fields that any client of the store may change; the others say where the session runs.
SHARED_FIELDS = ("title", "metadata", "archived_at", "destroyed_at")


class StoredRecord:
    def __init__(self, store: SessionStore, record: SessionRecord, recorder: Recorder) -> None:
        """`recorder` writes the events of the session; nothing is stored before it has started."""
        self.record = record
        self._store = store
        self._recorder = recorder
        self._changes: dict[str, Any] = {}
        self._saving: asyncio.Task[None] | None = None

    def change(self, **changes: Any) -> None:
        self.record = replace(self.record, **changes)
        self._changes.update(changes)
        if self._saving is None and self._recorder.started:
            self._saving = asyncio.create_task(self._save(), name=f"record {self.record.id}")
            self._saving.add_done_callback(self._saved)

    async def begin(self) -> None:
        """Store the record and start to write events."""
        self._changes.clear()
        await self._store.update_session(self.record)
        self._recorder.start()

    async def refresh(self, *, shared_only: bool) -> None:
        """Take over changes by other clients of the store: all fields, or those that clients share."""
        while True:
            await self.flush()
            known = self.record
            stored = await self._store.get_session(known.id)
            if stored is None:
                raise SessionNotFoundError(known.id)
            if self.record is known:
                break
        shared = {name: getattr(stored, name) for name in SHARED_FIELDS}
        self.record = replace(known, **shared) if shared_only else stored

    async def flush(self) -> None:
        """Wait until record and events are stored."""
        while (saving := self._saving) is not None:
            await asyncio.wait([saving])
        await self._recorder.flush()

    async def _save(self) -> None:
        while self._changes:
            changes, self._changes = self._changes, {}
            await self._store.patch_session(self.record.id, **changes)

    def _saved(self, task: asyncio.Task[None]) -> None:
        self._saving = None
        if not task.cancelled() and (error := task.exception()) is not None:
            self._recorder.failure = self._recorder.failure or error
