"""The classes of universal events.

There is one class per event type, so `match`, `isinstance` and `event.type` all tell them apart, and `data`
has the right type. They serialise to exactly the legacy JSON (`event_to_json`), key order included: a field
without a default is always written, a field with a default is left out when it is `None`. Two types are not
in the legacy schema: `item.updated` and `session.updated`.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Struct

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.universal.items import UniversalItem

EventSource = Literal["agent", "daemon"]
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
EndReason = Literal["completed", "error", "terminated"]
PermissionStatus = Literal["requested", "accept", "accept_for_session", "reject"]
QuestionStatus = Literal["requested", "answered", "rejected"]


class StderrOutput(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The agent's stderr: all of it, or its first and last lines."""

    head: str | None = None
    tail: str | None = None
    truncated: bool
    total_lines: int | None = None


class SessionStartedData(Struct, frozen=True):
    metadata: Any


class SessionEndedData(Struct, frozen=True, kw_only=True, omit_defaults=True):
    reason: EndReason
    terminated_by: EventSource
    message: str | None = None
    exit_code: int | None = None
    stderr: StderrOutput | None = None


class TurnData(Struct, frozen=True, kw_only=True, omit_defaults=True):
    phase: Literal["started", "ended"]
    turn_id: str | None = None
    metadata: Any = None


class ItemData(Struct, frozen=True):
    item: UniversalItem


class ItemDeltaData(Struct, frozen=True):
    item_id: str
    native_item_id: str | None
    delta: str


class SessionUpdatedData(Struct, frozen=True):
    label: str
    detail: str | None
    update: Any


class ErrorData(Struct, frozen=True):
    message: str
    code: str | None
    details: Any


class PermissionData(Struct, frozen=True):
    permission_id: str
    action: str
    status: PermissionStatus
    metadata: Any


class QuestionData(Struct, frozen=True):
    question_id: str
    prompt: str
    options: list[str]
    response: str | None
    status: QuestionStatus


class UnparsedData(Struct, frozen=True):
    error: str
    location: str
    raw_hash: str | None


class UniversalEvent(Struct, frozen=True, kw_only=True):
    """The envelope of all events; the subclasses narrow `type` and `data`."""

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


class SessionStarted(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["session.started"]
    data: SessionStartedData


class SessionEnded(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["session.ended"]
    data: SessionEndedData


class TurnStarted(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["turn.started"]
    data: TurnData


class TurnEnded(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["turn.ended"]
    data: TurnData


class ItemStarted(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["item.started"]
    data: ItemData


class ItemDelta(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["item.delta"]
    data: ItemDeltaData


class ItemUpdated(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["item.updated"]
    data: ItemData


class ItemCompleted(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["item.completed"]
    data: ItemData


class SessionUpdated(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["session.updated"]
    data: SessionUpdatedData


class ErrorEvent(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["error"]
    data: ErrorData


class PermissionRequested(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["permission.requested"]
    data: PermissionData


class PermissionResolved(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["permission.resolved"]
    data: PermissionData


class QuestionRequested(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["question.requested"]
    data: QuestionData


class QuestionResolved(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["question.resolved"]
    data: QuestionData


class AgentUnparsed(UniversalEvent, frozen=True, kw_only=True):
    type: Literal["agent.unparsed"]
    data: UnparsedData


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
