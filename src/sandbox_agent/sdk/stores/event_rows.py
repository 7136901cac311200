"""Rows of the events table, and the indexes that new events get; the same for SQLite and Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.stores.records import EventRecord, same_event
from sandbox_agent.sdk.stores.store_errors import EventConflictError

EncodedEvent = tuple[EventRecord, str]
"""An event and its payload as JSON text."""


class EventRow(Struct, frozen=True, gc=False):
    """The values of an event in the order of `EVENT_COLUMNS`."""

    id: str
    event_index: int
    session_id: str
    created_at: int
    connection_id: str
    sender: str
    payload_json: str


def event_record(row: Sequence[Any]) -> EventRecord:
    """The event of a row in the order of `EVENT_COLUMNS`, its payload as text."""
    event_id, index, session_id, created_at, connection_id, sender, payload = row
    return EventRecord(
        id=event_id,
        event_index=index,
        session_id=session_id,
        created_at=created_at,
        connection_id=connection_id,
        sender=sender,
        payload=json_codec.decode(payload),
    )


def place_events(
    events: Sequence[EncodedEvent], known: dict[str, EventRecord], last: dict[str, int]
) -> tuple[list[EventRecord], list[EventRow]]:
    """The events with their indexes, and the rows to insert.

    `known` has the stored events among them by id, `last` the highest index of each session. Raises
    `EventConflictError` if an id belongs to another event.
    """
    answer: list[EventRecord] = []
    rows: list[EventRow] = []
    for event, payload in events:
        stored = known.get(event.id)
        if stored is None:
            index = event.event_index or last.get(event.session_id, 0) + 1
            last[event.session_id] = max(last.get(event.session_id, 0), index)
            stored = known[event.id] = replace(event, event_index=index)
            rows.append(
                EventRow(
                    event.id,
                    index,
                    event.session_id,
                    event.created_at,
                    event.connection_id,
                    event.sender,
                    payload,
                )
            )
        elif not same_event(stored, event):
            raise EventConflictError(event.session_id, event.event_index, event.id)
        answer.append(stored)
    return answer, rows


def conflict(events: Sequence[EncodedEvent]) -> EventConflictError:
    """The error for events of which one has an index that is taken."""
    event = next((event for event, _ in events if event.event_index), events[0][0])
    return EventConflictError(event.session_id, event.event_index, event.id)
