"""One tool call: the merged fields of its updates, what it is called, and its output.

An ACP update replaces the fields it contains. Output comes in three ways: as text content, beside the
update in `_meta` (`terminal_output`, `terminal_output_delta`), and as `rawOutput`. Text that repeats the
arguments of the call, as some agents send while the tool runs, is not output.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.universal.items import (
    ContentPart,
    FileRefPart,
    JsonPart,
    ToolCallPart,
    ToolLocation,
    ToolResultPart,
)
from sandbox_agent.sdk.universal.json_reading import as_dict, as_int, as_list, as_text, json_text
from sandbox_agent.sdk.universal.mapping.items.content import block_part, block_text, diff_part
from sandbox_agent.sdk.universal.mapping.items.item_lifecycle import Item
from sandbox_agent.sdk.universal.meta import parent_call_of, tool_name_of

_MERGED = ("title", "content", "locations", "rawInput", "rawOutput")
_TERMINAL_KEYS = ("terminal_info", "terminal_output", "terminal_output_delta", "terminal_exit")
_WORD = re.compile(r"[\w.-]+")


class ToolCall(Struct):
    """A tool call with the merged fields of its updates."""

    call_id: str
    item: Item
    turn: int
    name: str = ""
    """The name of the tool in the events; the first one stays."""
    kind: str = "other"
    """ACP's kind of tool: `other` until the agent states one."""
    fields: dict[str, Any] = {}
    terminal: str = ""
    """Output that the agent sent beside its updates."""
    own_terminal: bool = False
    """The agent shows the call in a terminal of its own, which may have no output."""
    rejected: bool = False
    completed: bool = False
    described: frozenset[str] = frozenset()
    """Texts of the content that describe the call instead of showing its output."""
    asked_diffs: list[Any] = []
    """Diffs of the permission request."""
    parent_call_id: str | None = None
    """The call whose sub-agent makes this one."""

    def announce(self, update: dict[str, Any]) -> None:
        """Merge the first update of a call; until the tool runs, its text says what the tool will do."""
        self.merge(update)
        if update.get("status") != "in_progress":
            self.described |= frozenset(self._texts())

    def request(self, tool_call: dict[str, Any]) -> None:
        """Merge a permission request for the call; its diff is kept if the result shows none."""
        # Texts are for the person who decides, and so are facts in place of the arguments of the call.
        left_out = ("content", "rawInput") if self.fields.get("rawInput") else ("content",)
        self.merge({key: value for key, value in tool_call.items() if key not in left_out})
        self.asked_diffs = diffs_of(tool_call) or self.asked_diffs

    def merge(self, update: dict[str, Any], *, final: bool = False) -> None:
        self.fields.update({key: update[key] for key in _MERGED if update.get(key) is not None})
        if self.kind == "other":
            self.kind = as_text(update.get("kind")) or self.kind
        self.name = self.name or self._find_name(update)
        self.parent_call_id = self.parent_call_id or parent_call_of(update)
        meta = as_dict(update.get("_meta"))
        self.own_terminal = self.own_terminal or any(key in meta for key in _TERMINAL_KEYS)
        self.terminal = _terminal_text(self.terminal, meta)
        if not final:
            self._read_arguments()

    def finish(self) -> None:
        """Mark the call as completed and drop what is no longer needed; long sessions have thousands."""
        self.completed = True
        self.fields = {"title": self.fields["title"]} if "title" in self.fields else {}
        self.terminal, self.described, self.asked_diffs = "", frozenset(), []

    def facts(self) -> dict[str, Any]:
        """The merged ACP fields."""
        return {**self.fields, "kind": self.kind, **({"name": self.name} if self.name else {})}

    def __deepcopy__(self, memo: dict[int, Any]) -> ToolCall:
        if self.completed:
            return self
        clone = copy.copy(self)
        clone.item, clone.fields = copy.deepcopy(self.item, memo), copy.deepcopy(self.fields, memo)
        return clone

    def call_content(self) -> list[ContentPart]:
        arguments = json_text(self.fields["rawInput"]) if "rawInput" in self.fields else "{}"
        title = as_text(self.fields.get("title"))
        part = ToolCallPart(self.name, arguments, self.call_id, self.kind, title)
        return [part.with_facts(self._locations(), self.parent_call_id)]

    def output(self) -> str:
        """The readable output so far."""
        texts = [text for text in self._texts() if text not in self.described]
        return "\n".join(texts) or self.terminal

    def has_output(self) -> bool:
        """Whether there is a result to show for a call without a final status."""
        pieces = as_list(self.fields.get("content"))
        return bool("rawOutput" in self.fields or self.output() or len(pieces) > len(self._texts()))

    def result_content(self) -> list[ContentPart]:
        raw = self.fields.get("rawOutput")
        # Text comes before JSON; some agents decorate the text of the content.
        output = raw if isinstance(raw, str) and raw else self.output() or _own_text(raw)
        pieces = as_list(self.fields.get("content"))
        if not output and raw is not None and not any(map(_is_diff, pieces)):
            output = json_text(raw)
        if not self.rejected and not any(map(_is_diff, pieces)):
            pieces = [*pieces, *self.asked_diffs]
        parts: list[ContentPart] = [ToolResultPart(self.call_id, output or "\n".join(self._texts()))]
        parts += [part for piece in pieces if (part := self._part(piece)) is not None]
        if self.kind == "read":
            parts += [FileRefPart(place.path, "read", None) for place in self._locations()]
        # A file that is both a location and a link of the result is one reference.
        refs = [part for part in parts if isinstance(part, FileRefPart)]
        doubles = [part for number, part in enumerate(refs) if part in refs[:number]]
        return [part for part in parts if not any(part is double for double in doubles)]

    def _locations(self) -> list[ToolLocation]:
        places = [as_dict(place) for place in as_list(self.fields.get("locations"))]
        return [
            ToolLocation(path, as_int(place.get("line")))
            for place in places
            if (path := as_text(place.get("path")))
        ]

    def _find_name(self, update: dict[str, Any]) -> str:
        """The name that the agent states, else a title that is one word, else the kind of tool."""
        title = as_text(update.get("title")) or ""
        if name := tool_name_of(update):
            return name
        files = {place.path.rpartition("/")[2] for place in self._locations()}
        # A title can also be a file or all of the command.
        one_word = _WORD.fullmatch(title) and title not in files
        one_word = one_word and not _repeats(title, self.fields.get("rawInput"))
        return title if one_word or self.kind == "other" else self.kind

    def _read_arguments(self) -> None:
        """Find the texts that are no output; complete arguments among them count if no others are known."""
        for text in self._texts():
            if not _repeats(text, self.fields.get("rawInput")):
                continue
            self.described |= {text}
            if not self.fields.get("rawInput") and isinstance(arguments := _json(text), dict):
                self.fields["rawInput"] = arguments

    def _texts(self) -> list[str]:
        blocks = [as_dict(content).get("content") for content in as_list(self.fields.get("content"))]
        return [text for block in blocks if (text := block_text(block)) is not None]

    def _part(self, content: Any) -> ContentPart | None:
        """The part for one piece of content; text and the agent's own terminals are already in the output."""
        fields = as_dict(content)
        block = fields.get("content")
        if _is_diff(content):
            return diff_part(fields)
        if fields.get("type") == "content" and isinstance(block, dict):
            return None if block_text(block) is not None else block_part(block)
        return None if fields.get("type") == "terminal" and self.own_terminal else JsonPart(content)


def diffs_of(tool_call: dict[str, Any]) -> list[Any]:
    """The diffs in the content of a call."""
    return [content for content in as_list(tool_call.get("content")) if _is_diff(content)]


def _is_diff(content: Any) -> bool:
    return as_dict(content).get("type") == "diff"


def _own_text(raw: Any) -> str:
    """The text that some agents put into `rawOutput` beside facts about it, or the result of an MCP tool."""
    fields = as_dict(raw)
    if text := as_text(fields.get("output")) or as_text(fields.get("content")):
        return text
    result, error = as_dict(fields.get("result")), as_dict(fields.get("error"))
    texts = [block_text(block) for block in as_list(result.get("content"))]
    if None in texts:
        return ""  # The JSON shows pictures and resources too.
    return "\n".join(text for text in texts if text) or as_text(error.get("message")) or ""


def _terminal_text(before: str, meta: dict[str, Any]) -> str:
    """Terminal output after an update: a delta is appended, a text that repeats the start replaces it."""
    if (data := as_text(as_dict(meta.get("terminal_output")).get("data"))) is not None:
        data = data.replace("\r\n", "\n")
        before = data if data.startswith(before) else before + data
    if (delta := as_text(as_dict(meta.get("terminal_output_delta")).get("data"))) is not None:
        before += delta.replace("\r\n", "\n")
    return before


def _repeats(text: str, arguments: Any) -> bool:
    """Whether text of a running call is part of its arguments, or all of them as JSON, maybe incomplete."""
    if arguments in (None, {}):
        return text.startswith("{")
    if text.strip() in map(str.strip, _strings(arguments)):
        return True
    return text.startswith("{") and bool(_json(text) == arguments)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


def _json(text: str) -> Any:
    try:
        return json_codec.decode(text)
    except (ValueError, RecursionError):
        return None
