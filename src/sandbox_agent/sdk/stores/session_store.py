"""The contract of all stores.

Every method is atomic: it happens fully or not at all, also when the caller is cancelled (a write that has
begun completes in the background). Stores may be shared by several tasks and, for SQLite and Postgres, by
several processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from sandbox_agent.sdk.stores.records import Checkpoint, EventRecord, Order, Page, SessionRecord

DEFAULT_LIMIT = 100


@runtime_checkable
class SessionStore(Protocol):
    """Where sessions and their messages are kept."""

    async def get_session(self, session_id: str) -> SessionRecord | None:
        """The session, or `None`."""
        ...

    async def list_sessions(
        self,
        *,
        cursor: str | None = None,
        limit: int = DEFAULT_LIMIT,
        order: Order = "asc",
        archived: bool | None = None,
    ) -> Page[SessionRecord]:
        """Sessions by creation time, then id; `archived` selects archived or other sessions only."""
        ...

    async def insert_session(self, record: SessionRecord) -> bool:
        """Insert the session; returns False, and changes nothing, if the id is taken."""
        ...

    async def update_session(self, record: SessionRecord) -> None:
        """Insert the session, or replace all its fields."""
        ...

    async def patch_session(self, session_id: str, **changes: Any) -> SessionRecord | None:
        """Change only the named fields; returns the new record, or `None` if there is no such session."""
        ...

    async def delete_session(self, session_id: str) -> bool:
        """Delete the session and its events; returns whether it existed."""
        ...

    async def insert_event(self, event: EventRecord) -> EventRecord:
        """Store one event; see `insert_events`."""
        ...

    async def insert_events(self, events: Sequence[EventRecord]) -> list[EventRecord]:
        """Store events, all or none, and return them with their index in the session.

        An event with `event_index` 0 gets the next index. An event whose `id` is stored is not stored again;
        the stored one is returned.

        Raises `EventConflictError` if another event has the index, or the id belongs to another session.
        """
        ...

    async def list_events(
        self,
        session_id: str,
        *,
        after_index: int = 0,
        offset: int = 0,
        limit: int = DEFAULT_LIMIT,
        cursor: str | None = None,
        order: Order = "asc",
    ) -> Page[EventRecord]:
        """Events after `after_index` in order, skipping the first `offset` of them.

        `cursor` is the `next_cursor` of the previous page and replaces both.
        """
        ...

    async def count_events(self, session_id: str) -> int:
        """The number of events of the session."""
        ...

    async def max_event_index(self, session_id: str) -> int:
        """The highest event index, 0 if there is none."""
        ...

    async def close(self) -> None:
        """Finish running writes and close. A closed store raises `StoreClosedError`."""
        ...


@runtime_checkable
class CheckpointStore(Protocol):
    """What a store may offer in addition: states of the event mapper, which make long histories cheap.

    They can be made again at any time; without them, reading begins at the first message.
    """

    async def save_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint; one of the same message is replaced."""
        ...

    async def find_checkpoint(
        self, session_id: str, version: str, *, max_sequence: int | None = None
    ) -> Checkpoint | None:
        """The last checkpoint of this version, at or before an event if `max_sequence` is given."""
        ...
