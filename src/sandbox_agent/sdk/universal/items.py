"""Items: the messages, tool calls, results and notices a session is made of.

The structs serialise to exactly the legacy JSON: snake_case keys in this order. A field without a
default is always written (as `null` when it has no value); a field with a default is left out then.
`ContentPart` is told apart by its `type`.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

ItemKind = Literal["message", "tool_call", "tool_result", "system", "status", "unknown"]
ItemRole = Literal["user", "assistant", "system", "tool"]
ItemStatus = Literal["in_progress", "completed", "failed"]
FileAction = Literal["read", "write", "patch"]
Visibility = Literal["public", "private"]


class TextPart(Struct, frozen=True, tag="text", tag_field="type"):
    """Plain text."""

    text: str


class JsonPart(Struct, frozen=True, tag="json", tag_field="type"):
    """Anything that has no part of its own."""

    json: Any


class ToolCallPart(Struct, frozen=True, tag="tool_call", tag_field="type"):
    """The call of a tool; `arguments` is a JSON text with sorted keys."""

    name: str
    arguments: str
    call_id: str


class ToolResultPart(Struct, frozen=True, tag="tool_result", tag_field="type"):
    """What a tool gave back."""

    call_id: str
    output: str


class FileRefPart(Struct, frozen=True, tag="file_ref", tag_field="type"):
    """A file that was read or changed; `diff` is a unified diff."""

    path: str
    action: FileAction
    diff: str | None


class ReasoningPart(Struct, frozen=True, tag="reasoning", tag_field="type"):
    """What the agent thinks."""

    text: str
    visibility: Visibility


class ImagePart(Struct, frozen=True, tag="image", tag_field="type"):
    """An image by its address; embedded data is only named, not repeated."""

    path: str
    mime: str | None


class StatusPart(Struct, frozen=True, tag="status", tag_field="type"):
    """A notice such as a new plan, mode or usage figure."""

    label: str
    detail: str | None


ContentPart = (
    TextPart | JsonPart | ToolCallPart | ToolResultPart | FileRefPart | ReasoningPart | ImagePart | StatusPart
)


class UniversalItem(Struct, frozen=True, kw_only=True):
    """One item in one state; the same `item_id` appears when it starts and when it completes."""

    item_id: str
    native_item_id: str | None
    parent_id: str | None
    kind: ItemKind
    role: ItemRole | None
    content: list[ContentPart]
    status: ItemStatus

    @property
    def text(self) -> str:
        """The joined text and reasoning of the item."""
        return "".join(part.text for part in self.content if isinstance(part, TextPart | ReasoningPart))
