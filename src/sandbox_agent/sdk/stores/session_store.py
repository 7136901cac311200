"""The contract all stores keep, so that any of them can stand behind a client.

Every method is atomic: it happens fully or not at all, also when the waiting task is cancelled
(a write that has begun is then finished in the background). Stores may be shared by several tasks
and, for SQLite and Postgres, by several processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from sandbox_agent.sdk.stores.records import EventRecord, Order, Page, SessionRecord

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
        """Sessions by creation time, then id; `archived` True or False picks those that are, or are not."""
        ...

    async def update_session(self, record: SessionRecord) -> None:
        """Insert the session, or replace all its fields."""
        ...

    async def patch_session(self, session_id: str, **changes: Any) -> SessionRecord | None:
        """Change only the named fields; the record afterwards, or `None` if there is no such session."""
        ...

    async def delete_session(self, session_id: str) -> bool:
        """Forget the session and its events; whether there was one."""
        ...

    async def insert_event(self, event: EventRecord) -> EventRecord:
        """Store one event; see `insert_events`."""
        ...

    async def insert_events(self, events: Sequence[EventRecord]) -> list[EventRecord]:
        """Store events, all or none, and give them back with their place in the session.

        An event with `event_index` 0 gets the next place. One whose `id` is stored already is not
        stored again; the stored one is given back.

        Raises `EventConflictError` if another event has the wanted place, or the id belongs to
        another session.
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
        """Events in order: those after `after_index`, without the first `offset` of them.

        `cursor` is the `next_cursor` of the page before and takes the place of both.
        """
        ...

    async def count_events(self, session_id: str) -> int:
        """How many events the session has."""
        ...

    async def max_event_index(self, session_id: str) -> int:
        """The last place taken, 0 for none."""
        ...

    async def close(self) -> None:
        """Finish what is being written and let go. A closed store raises `StoreClosedError`."""
        ...
