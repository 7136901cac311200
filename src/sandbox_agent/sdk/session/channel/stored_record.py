"""The record of a session: changed in memory at once, written to the store by a background task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sandbox_agent.sdk.errors import SessionAlreadyExistsError, SessionNotFoundError
from sandbox_agent.sdk.session.history.store_writer import StoreWriter
from sandbox_agent.sdk.stores import SessionRecord, SessionStore

# Fields that any client of the store may change; the others say where the session runs.
SHARED_FIELDS = ("title", "metadata", "archived_at", "destroyed_at")


class StoredRecord:
    """The record of one session; `writer` stores its changes once the session itself is stored."""

    def __init__(self, store: SessionStore, record: SessionRecord, writer: StoreWriter) -> None:
        self.record = record
        self._store = store
        self._writer = writer

    def change(self, **changes: Any) -> None:
        """Change fields: here at once, in the store by the writer."""
        self.record = replace(self.record, **changes)
        self._writer.change(changes)

    async def begin(self) -> None:
        """Store the record and start to write events."""
        self._writer.discard_changes()
        if not await self._store.insert_session(self.record):
            raise SessionAlreadyExistsError(self.record.id)
        self._writer.start()

    async def refresh(self, *, shared_only: bool) -> None:
        """Take over changes by other clients of the store: all fields, or those that clients share."""
        while True:
            await self._writer.flush()
            known = self.record
            stored = await self._store.get_session(known.id)
            if stored is None:
                raise SessionNotFoundError(known.id)
            if self.record is known:
                break
        shared = {name: getattr(stored, name) for name in SHARED_FIELDS}
        self.record = replace(known, **shared) if shared_only else stored
