"""Items: the messages, tool calls, results and notices of a session.

The structs serialise to exactly the legacy JSON: snake_case keys in this order. A field without a default
is always written (as `null` if it has no value). The `type` of a `ContentPart` selects its class.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from msgspec import Struct

from sandbox_agent.sdk import json_codec

ItemKind = Literal["message", "tool_call", "tool_result", "system", "status", "unknown"]
ItemRole = Literal["user", "assistant", "system", "tool"]
ItemStatus = Literal["in_progress", "completed", "failed"]
FileAction = Literal["read", "write", "patch"]
Visibility = Literal["public", "private"]


class TextPart(Struct, frozen=True, gc=False, tag="text", tag_field="type"):
    """Plain text."""

    type: ClassVar[Literal["text"]] = "text"
    text: str


class JsonPart(Struct, frozen=True, gc=False, tag="json", tag_field="type"):
    """Content without a more specific part."""

    type: ClassVar[Literal["json"]] = "json"
    json: Any


class ToolLocation(Struct, frozen=True, gc=False):
    """A place in a file that a tool works on; `Path(location)` is its file."""

    path: str
    line: int | None = None

    def __fspath__(self) -> str:
        return self.path


class ToolCallPart(Struct, frozen=True, dict=True, omit_defaults=True, tag="tool_call", tag_field="type"):
    """The call of a tool; `arguments` is a JSON text with sorted keys.

    `name` stays the same for the whole call, and so does `kind`, ACP's kind of tool (`execute`, `read`,
    `edit`, ...). `title` is what the agent says about the call at this moment. Both are left out if unknown.
    `locations` and `parent_call_id` are not in the JSON.
    """

    type: ClassVar[Literal["tool_call"]] = "tool_call"
    name: str
    arguments: str
    call_id: str
    kind: str | None = None
    title: str | None = None

    @property
    def raw_input(self) -> Any:
        """The arguments as a JSON value."""
        return json_codec.decode(self.arguments)

    @property
    def locations(self) -> list[ToolLocation]:
        """The files that the tool works on."""
        found: list[ToolLocation] = self.__dict__.get("locations_", [])
        return found

    @property
    def parent_call_id(self) -> str | None:
        """The call that runs the sub-agent to which this call belongs."""
        found: str | None = self.__dict__.get("parent_call_id_")
        return found

    def with_facts(self, locations: list[ToolLocation], parent_call_id: str | None) -> ToolCallPart:
        """This part with facts that the JSON does not have."""
        self.__dict__.update(locations_=locations, parent_call_id_=parent_call_id)
        return self


class ToolResultPart(Struct, frozen=True, gc=False, tag="tool_result", tag_field="type"):
    """The output of a tool."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    call_id: str
    output: str


class FileRefPart(Struct, frozen=True, gc=False, tag="file_ref", tag_field="type"):
    """A file that was read or changed; `diff` is a unified diff."""

    type: ClassVar[Literal["file_ref"]] = "file_ref"
    path: str
    action: FileAction
    diff: str | None


class ReasoningPart(Struct, frozen=True, gc=False, tag="reasoning", tag_field="type"):
    """A thought of the agent."""

    type: ClassVar[Literal["reasoning"]] = "reasoning"
    text: str
    visibility: Visibility


class ImagePart(Struct, frozen=True, gc=False, tag="image", tag_field="type"):
    """An image by its address; embedded data is not repeated, only its MIME type is given."""

    type: ClassVar[Literal["image"]] = "image"
    path: str
    mime: str | None


class StatusPart(Struct, frozen=True, gc=False, tag="status", tag_field="type"):
    """A notice such as a new plan, mode or usage figure."""

    type: ClassVar[Literal["status"]] = "status"
    label: str
    detail: str | None


ContentPart = (
    TextPart | JsonPart | ToolCallPart | ToolResultPart | FileRefPart | ReasoningPart | ImagePart | StatusPart
)


class UniversalItem(Struct, frozen=True, kw_only=True, gc=False):
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
