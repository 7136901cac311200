"""Records of a store: sessions, and the JSON-RPC messages of each session in both directions.

Times are milliseconds since the epoch. Records are frozen; change a session with `dataclasses.replace` and
`update_session`, or single fields with `patch_session`. A client stores thousands of events per second, so
an event is a struct, which is made five times as fast as a data class.
"""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from msgspec import Struct, field

Sender = Literal["client", "agent"]
Order = Literal["asc", "desc"]
T = TypeVar("T")


def new_event_id() -> str:
    """A random id for a message that has no number on a stream."""
    return str(uuid.uuid4())


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRecord:
    """One session."""

    id: str
    """The client's id, not the agent's."""
    agent: str
    agent_session_id: str
    """The agent's `sessionId`; changes when a session is restored with `session/new`."""
    last_connection_id: str
    created_at: int
    destroyed_at: int | None = None
    archived_at: int | None = None
    """Set for an archived session, which can still be read and resumed."""
    title: str | None = None
    metadata: Mapping[str, Any] | None = None
    """The caller's own labels."""
    session_init: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    """The parameters of `session/new`."""
    config_options: list[Any] | None = dataclasses.field(default=None, repr=False)
    modes: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    sandbox_id: str | None = None
    server_id: str | None = None
    server_created_at: int | None = None
    """`createdAtMs` of the instance; reattaching requires the same value."""
    last_event_id: int | None = None
    """The number of the last stored stream event, for `Last-Event-ID`."""
    init_result: Mapping[str, Any] | None = dataclasses.field(default=None, repr=False)
    """The agent's answer to `initialize`."""


class EventRecord(Struct, frozen=True, kw_only=True):
    """One JSON-RPC message of a session; change one with `msgspec.structs.replace`."""

    session_id: str
    sender: Sender
    payload: Mapping[str, Any]
    created_at: int
    connection_id: str
    event_index: int = 0
    """The position in the session, from 1 without gaps. 0 asks the store for the next one."""
    id: str = field(default_factory=new_event_id)
    """Storing the same id twice stores one event."""


class Checkpoint(Struct, frozen=True, kw_only=True):
    """The state of the event mapper after a message, so that reading can begin there."""

    session_id: str
    event_index: int
    """The index of the last message that was mapped."""
    sequence: int
    """The number of the last universal event."""
    version: str
    """The version of the mapping; a state of another one is of no use."""
    state: str


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; `next_cursor` requests the next one and is `None` at the end."""

    items: list[T]
    next_cursor: str | None = None


def same_event(stored: EventRecord, offered: EventRecord) -> bool:
    """Whether an event with a stored id is the stored event, sent again."""
    return stored.session_id == offered.session_id and offered.event_index in (0, stored.event_index)
