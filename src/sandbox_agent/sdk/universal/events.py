"""The classes of universal events.

There is one class per event type, and `UniversalEvent` is their union: `match`, `isinstance` and `event.type`
tell them apart, also for type checkers, and `data` has the right type. They serialise to exactly the legacy
JSON (`event_to_json`), key order included. Two types are not in the legacy schema: `item.updated` and
`session.updated`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.universal.event_data import (
    DeltaKind,
    ErrorData,
    EventSource,
    ItemData,
    ItemDeltaData,
    PermissionData,
    QuestionData,
    SessionEndedData,
    SessionStartedData,
    SessionUpdatedData,
    TurnData,
    UnparsedData,
)
from sandbox_agent.sdk.universal.items import UniversalItem

EventType = Literal[
    "session.started",
    "session.ended",
    "turn.started",
    "turn.ended",
    "item.started",
    "item.delta",
    "item.updated",
    "item.completed",
    "session.updated",
    "error",
    "permission.requested",
    "permission.resolved",
    "question.requested",
    "question.resolved",
    "agent.unparsed",
]


class EventEnvelope(Struct, frozen=True, kw_only=True, gc=False):
    """The fields of all events; the subclasses narrow `type` and `data`."""

    event_id: str
    sequence: int
    time: str
    session_id: str
    native_session_id: str | None
    synthetic: bool
    source: EventSource
    type: EventType
    data: Any
    raw: Any


class SessionStarted(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["session.started"]
    data: SessionStartedData


class SessionEnded(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["session.ended"]
    data: SessionEndedData


class TurnStarted(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["turn.started"]
    data: TurnData


class TurnEnded(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["turn.ended"]
    data: TurnData

    @property
    def stop_reason(self) -> str | None:
        """Why the agent stopped; None for a turn that failed."""
        metadata = self.data.metadata
        return metadata.get("stopReason") if isinstance(metadata, dict) else None


class ItemStarted(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["item.started"]
    data: ItemData

    @property
    def item(self) -> UniversalItem:
        return self.data.item


class ItemDelta(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["item.delta"]
    data: ItemDeltaData

    @property
    def kind(self) -> DeltaKind:
        """What the text is part of: a message (`text`), a thought or the output of a tool."""
        return self.data.kind

    @property
    def text(self) -> str:
        """The new piece of text."""
        return self.data.delta

    @property
    def item_id(self) -> str:
        return self.data.item_id


class ItemUpdated(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["item.updated"]
    data: ItemData

    @property
    def item(self) -> UniversalItem:
        return self.data.item


class ItemCompleted(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["item.completed"]
    data: ItemData

    @property
    def item(self) -> UniversalItem:
        return self.data.item


class SessionUpdated(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["session.updated"]
    data: SessionUpdatedData


class ErrorEvent(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["error"]
    data: ErrorData


class PermissionRequested(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["permission.requested"]
    data: PermissionData


class PermissionResolved(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["permission.resolved"]
    data: PermissionData


class QuestionRequested(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["question.requested"]
    data: QuestionData


class QuestionResolved(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["question.resolved"]
    data: QuestionData


class AgentUnparsed(EventEnvelope, frozen=True, kw_only=True, gc=False):
    type: Literal["agent.unparsed"]
    data: UnparsedData


UniversalEvent = (
    SessionStarted
    | SessionEnded
    | SessionUpdated
    | TurnStarted
    | TurnEnded
    | ItemStarted
    | ItemDelta
    | ItemUpdated
    | ItemCompleted
    | ErrorEvent
    | PermissionRequested
    | PermissionResolved
    | QuestionRequested
    | QuestionResolved
    | AgentUnparsed
)
"""Every event: type checkers narrow it by `match`, `isinstance` and `event.type == ...`."""

EVENT_CLASSES: dict[str, type[UniversalEvent]] = {
    "session.started": SessionStarted,
    "session.ended": SessionEnded,
    "turn.started": TurnStarted,
    "turn.ended": TurnEnded,
    "item.started": ItemStarted,
    "item.delta": ItemDelta,
    "item.updated": ItemUpdated,
    "item.completed": ItemCompleted,
    "session.updated": SessionUpdated,
    "error": ErrorEvent,
    "permission.requested": PermissionRequested,
    "permission.resolved": PermissionResolved,
    "question.requested": QuestionRequested,
    "question.resolved": QuestionResolved,
    "agent.unparsed": AgentUnparsed,
}


class _TypeOnly(Struct, frozen=True):
    type: str


def event_to_json(event: UniversalEvent) -> bytes:
    """The legacy JSON of an event."""
    return json_codec.encode(event)


def event_to_dict(event: UniversalEvent) -> dict[str, Any]:
    """The legacy JSON of an event as plain dicts and lists."""
    builtins: dict[str, Any] = msgspec.to_builtins(event)
    return builtins


def event_from_json(data: bytes | str) -> UniversalEvent:
    """Read an event back, as the class its `type` names.

    Raises `msgspec.ValidationError` (a `ValueError`) if the text is not a universal event.
    """
    kind = msgspec.json.decode(data, type=_TypeOnly).type
    if kind not in EVENT_CLASSES:
        raise msgspec.ValidationError(f"unknown universal event type {kind!r}")
    return msgspec.json.decode(data, type=EVENT_CLASSES[kind])
