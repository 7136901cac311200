"""Items: the messages, tool calls, results and notices of a session.

The structs serialise to exactly the legacy JSON: snake_case keys in this order. A field without a default
is always written (as `null` if it has no value). The `type` of a `ContentPart` selects its class.
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
    """Content without a more specific part."""

    json: Any


class ToolCallPart(Struct, frozen=True, omit_defaults=True, tag="tool_call", tag_field="type"):
    """The call of a tool; `arguments` is a JSON text with sorted keys.

    `name` stays the same for the whole call, and so does `kind`, ACP's kind of tool (`execute`, `read`,
    `edit`, ...). `title` is what the agent says about the call at this moment. Both are left out if unknown.
    """

    name: str
    arguments: str
    call_id: str
    kind: str | None = None
    title: str | None = None


class ToolResultPart(Struct, frozen=True, tag="tool_result", tag_field="type"):
    """The output of a tool."""

    call_id: str
    output: str


class FileRefPart(Struct, frozen=True, tag="file_ref", tag_field="type"):
    """A file that was read or changed; `diff` is a unified diff."""

    path: str
    action: FileAction
    diff: str | None


class ReasoningPart(Struct, frozen=True, tag="reasoning", tag_field="type"):
    """A thought of the agent."""

    text: str
    visibility: Visibility


class ImagePart(Struct, frozen=True, tag="image", tag_field="type"):
    """An image by its address; embedded data is not repeated, only its MIME type is given."""

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
    """One item in one state; it has the same `item_id` when it starts and when it completes."""

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
