"""The `data` of universal events, one class per shape.

They serialise to exactly the legacy JSON: a field without a default is always written, a field with a default
is left out when it is `None`. What is more than the legacy JSON is in properties and class variables, which
are not written. The structs are part of no reference cycle, so the garbage collector need not look at them
(`gc=False`), which matters with 100,000 events.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Struct
from msgspec.structs import astuple

from sandbox_agent.sdk.universal.items import UniversalItem

EventSource = Literal["agent", "daemon"]
EndReason = Literal["completed", "error", "terminated"]
PermissionStatus = Literal["requested", "accept", "accept_for_session", "reject"]
QuestionStatus = Literal["requested", "answered", "rejected"]


class StderrOutput(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The agent's stderr: all of it, or its first and last lines."""

    head: str | None = None
    tail: str | None = None
    truncated: bool
    total_lines: int | None = None


class SessionStartedData(Struct, frozen=True, gc=False):
    metadata: Any


class SessionEndedData(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    reason: EndReason
    terminated_by: EventSource
    message: str | None = None
    exit_code: int | None = None
    stderr: StderrOutput | None = None


class TurnData(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    phase: Literal["started", "ended"]
    turn_id: str | None = None
    metadata: Any = None


class ItemData(Struct, frozen=True, gc=False):
    item: UniversalItem


DeltaKind = Literal["text", "thought", "output", "unknown"]
"""What a delta is part of: a message, a thought, the output of a tool; unknown for events read from JSON."""


class ItemDeltaData(Struct, frozen=True, gc=False):
    item_id: str
    native_item_id: str | None
    delta: str
    kind: ClassVar[DeltaKind] = "unknown"

    def __eq__(self, other: object) -> bool:
        # The kind is not in the JSON, so an event that was read from it equals the one that was written.
        return isinstance(other, ItemDeltaData) and astuple(self) == astuple(other)

    def __hash__(self) -> int:
        return hash(astuple(self))


class TextDeltaData(ItemDeltaData, frozen=True, gc=False):
    kind: ClassVar[DeltaKind] = "text"


class ThoughtDeltaData(ItemDeltaData, frozen=True, gc=False):
    kind: ClassVar[DeltaKind] = "thought"


class OutputDeltaData(ItemDeltaData, frozen=True, gc=False):
    kind: ClassVar[DeltaKind] = "output"


class SessionUpdatedData(Struct, frozen=True, gc=False):
    label: str
    detail: str | None
    update: Any


class ErrorData(Struct, frozen=True, gc=False):
    message: str
    code: str | None
    details: Any


class PermissionData(Struct, frozen=True, gc=False):
    permission_id: str
    action: str
    status: PermissionStatus
    metadata: Any


class QuestionData(Struct, frozen=True, gc=False):
    question_id: str
    prompt: str
    options: list[str]
    response: str | None
    status: QuestionStatus


class UnparsedData(Struct, frozen=True, gc=False):
    error: str
    location: str
    raw_hash: str | None
