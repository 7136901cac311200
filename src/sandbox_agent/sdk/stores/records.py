"""What a store keeps: sessions, and the JSON-RPC messages of each session in both directions.

Times are milliseconds since the epoch. Records are plain frozen data; change one with
`dataclasses.replace` and hand it to `update_session`, or change single fields with `patch_session`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

Sender = Literal["client", "agent"]
Order = Literal["asc", "desc"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """One session as the client knows it."""

    id: str
    """The client's own id; not the agent's."""
    agent: str
    agent_session_id: str
    """The agent's `sessionId`; changes when a session is restored with `session/new`."""
    last_connection_id: str
    created_at: int
    destroyed_at: int | None = None
    archived_at: int | None = None
    """Set to hide a session from lists; it can still be read and resumed."""
    title: str | None = None
    metadata: Mapping[str, Any] | None = None
    """The caller's own labels."""
    session_init: Mapping[str, Any] | None = None
    """The parameters of `session/new`."""
    config_options: list[Any] | None = None
    modes: Mapping[str, Any] | None = None
    sandbox_id: str | None = None
    server_id: str | None = None
    server_created_at: int | None = None
    """`createdAtMs` of the instance; reattaching needs the same one."""
    last_event_id: int | None = None
    """The last stream event that is stored, for `Last-Event-ID`."""
    init_result: Mapping[str, Any] | None = None
    """The agent's answer to `initialize`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRecord:
    """One JSON-RPC message of a session."""

    session_id: str
    sender: Sender
    payload: Mapping[str, Any]
    created_at: int
    connection_id: str
    event_index: int = 0
    """Place in the session, from 1 without gaps. 0 asks the store for the next one."""
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    """Storing the same id twice stores one event."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list; `next_cursor` asks for the rest and is `None` at the end."""

    items: list[T]
    next_cursor: str | None = None


def same_event(stored: EventRecord, offered: EventRecord) -> bool:
    """Whether an event whose id is known already is the stored one sent again."""
    return stored.session_id == offered.session_id and offered.event_index in (0, stored.event_index)
