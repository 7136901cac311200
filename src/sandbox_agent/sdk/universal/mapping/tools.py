"""Tool calls: one item for the call, a second one for its result.

An ACP update replaces the fields it contains, so updates are merged into the call, and text is compared
with the previous text; only appended text becomes a delta. An item is completed once: an update after a
final status becomes a status item.
"""

from __future__ import annotations

import copy
from typing import Any

from sandbox_agent.sdk.universal.items import (
    ContentPart,
    FileRefPart,
    ItemStatus,
    JsonPart,
    StatusPart,
    ToolCallPart,
    ToolResultPart,
    UniversalItem,
)
from sandbox_agent.sdk.universal.json_reading import as_dict, as_list, as_text, json_text
from sandbox_agent.sdk.universal.mapping.content import block_part, block_text, diff_part
from sandbox_agent.sdk.universal.mapping.item_lifecycle import Item, ItemLifecycle, read_snapshot
from sandbox_agent.sdk.universal.meta import item_facts, product_meta, tool_name_of

_MERGED = ("title", "kind", "content", "locations", "rawInput", "rawOutput")
_KEPT = ("title", "kind")
"""The fields kept of a completed call; a long session has thousands of them."""


class Tool:
    """A tool call with the merged fields of its updates."""

    def __init__(self, call_id: str, item: Item, turn: int) -> None:
        self.call_id = call_id
        self.item = item
        self.turn = turn
        self.name: str | None = None
        self.fields: dict[str, Any] = {}
        self.completed = False

    def merge(self, update: dict[str, Any]) -> None:
        self.fields.update({key: update[key] for key in _MERGED if update.get(key) is not None})
        self.name = tool_name_of(update) or self.name

    def finish(self) -> None:
        """Mark the call as completed and drop the fields that are no longer needed."""
        self.completed = True
        self.fields = {key: self.fields[key] for key in _KEPT if key in self.fields}

    def __deepcopy__(self, memo: dict[int, Any]) -> Tool:
        if self.completed:
            return self
        clone = Tool(self.call_id, copy.deepcopy(self.item, memo), self.turn)
        clone.name, clone.fields = self.name, copy.deepcopy(self.fields, memo)
        return clone

    def call_content(self) -> list[ContentPart]:
        name = self.name or as_text(self.fields.get("title")) or ""
        arguments = json_text(self.fields["rawInput"]) if "rawInput" in self.fields else "{}"
        return [ToolCallPart(name, arguments, self.call_id)]

    def text(self) -> str:
        """The joined text content."""
        blocks = [as_dict(c).get("content") for c in as_list(self.fields.get("content"))]
        return "\n".join(text for block in blocks if (text := block_text(block)) is not None)

    def has_output(self) -> bool:
        return "rawOutput" in self.fields or bool(self.fields.get("content"))

    def result_content(self) -> list[ContentPart]:
        raw = self.fields.get("rawOutput")
        output = self.text() if raw is None else raw if isinstance(raw, str) else json_text(raw)
        parts: list[ContentPart] = [ToolResultPart(self.call_id, output)]
        parts += [part for c in as_list(self.fields.get("content")) if (part := _output_part(c)) is not None]
        if self.fields.get("kind") == "read":
            paths = [as_text(as_dict(place).get("path")) for place in as_list(self.fields.get("locations"))]
            parts += [FileRefPart(path, "read", None) for path in paths if path]
        return parts


class Tools:
    """The tool calls of the session by their `toolCallId`."""

    def __init__(self, items: ItemLifecycle) -> None:
        self._items = items
        self._tools: dict[str, Tool] = {}
        self._running: dict[str, Tool] = {}
        self._turn = 0

    def facts(self, call_id: str | None) -> dict[str, Any]:
        """The merged ACP fields of a call, with its name under `toolName`; empty if it is unknown."""
        tool = self._tools.get(call_id or "")
        return {**tool.fields, "toolName": tool.name} if tool else {}

    def call(self, update: dict[str, Any], call_id: str, parent_id: str | None) -> None:
        """A `tool_call`: a new item, or an update of the one with this id."""
        known = self._tools.get(call_id)
        if known is None or (known.completed and known.turn < self._turn):
            self._create(update, call_id, parent_id, synthetic=False)
        else:
            self._apply(known, update)

    def update(self, update: dict[str, Any], call_id: str, parent_id: str | None) -> None:
        """A `tool_call_update`; for an unknown id the item is created first."""
        known = self._tools.get(call_id)
        if known is None:
            self._create(update, call_id, parent_id, synthetic=True)
        else:
            self._apply(known, update)

    def close_all(self, status: ItemStatus) -> None:
        """Complete the open calls at the end of a turn; output without a final status is kept."""
        for tool in list(self._running.values()):
            self._complete(tool, status, synthetic=True, with_result=tool.has_output())
        self._turn += 1

    def finish(self, final: UniversalItem) -> bool:
        """Complete the open call that `final` names with its content; returns whether there was one."""
        for tool in self._running.values():
            if final.item_id in (tool.item.item_id, tool.call_id):
                content = final.content or tool.call_content()
                self._finish(tool)
                self._items.complete(tool.item, content, final.status, synthetic=False)
                return True
        return False

    def _create(
        self, update: dict[str, Any], call_id: str, parent_id: str | None, *, synthetic: bool
    ) -> None:
        item = self._items.create(
            "tool_call", "assistant", facts=item_facts(update), native_item_id=call_id, parent_id=parent_id
        )
        tool = self._tools[call_id] = self._running[call_id] = Tool(call_id, item, self._turn)
        tool.merge(update)
        self._items.start(item, tool.call_content(), synthetic=synthetic)
        if (status := _final_status(update)) is not None:
            self._complete(tool, status, snapshot=_snapshot_of(update))

    def _apply(self, tool: Tool, update: dict[str, Any]) -> None:
        if tool.completed:
            self._late(tool, update)
            return
        before = tool.text()
        tool.merge(update)
        if (status := _final_status(update)) is not None:
            self._complete(tool, status, snapshot=_snapshot_of(update))
        elif (after := tool.text()) != before and after.startswith(before):
            self._items.delta(tool.item, after[len(before) :])

    def _complete(
        self,
        tool: Tool,
        status: ItemStatus,
        *,
        synthetic: bool = False,
        with_result: bool = True,
        snapshot: UniversalItem | None = None,
    ) -> None:
        content = snapshot.content if snapshot and snapshot.content else tool.call_content()
        self._items.complete(tool.item, content, status, synthetic=synthetic)
        if with_result:
            result = self._items.create(
                "tool_result", "tool", native_item_id=tool.call_id, parent_id=tool.item.item_id
            )
            self._items.whole(result, tool.result_content(), status, synthetic=synthetic)
        self._finish(tool)

    def _finish(self, tool: Tool) -> None:
        self._running.pop(tool.call_id, None)
        tool.finish()

    def _late(self, tool: Tool, update: dict[str, Any]) -> None:
        clone = self._tools[tool.call_id] = Tool(tool.call_id, tool.item, tool.turn)
        clone.name, clone.fields = tool.name, dict(tool.fields)
        clone.merge(update)
        clone.finish()
        note = self._items.create("status", None, native_item_id=tool.call_id, parent_id=tool.item.item_id)
        label = as_text(update.get("sessionUpdate")) or "tool_call_update"
        detail = as_text(update.get("title")) or as_text(update.get("status"))
        self._items.whole(note, [StatusPart(label, detail), JsonPart(update)], "completed", synthetic=False)


def _final_status(update: dict[str, Any]) -> ItemStatus | None:
    match update.get("status"):
        case "completed":
            return "completed"
        case "failed":
            return "failed"
    return None


def _output_part(content: Any) -> ContentPart | None:
    """The part for one piece of tool content; text is already in the output."""
    fields = as_dict(content)
    block = fields.get("content")
    if fields.get("type") == "diff":
        return diff_part(fields)
    if fields.get("type") == "content" and isinstance(block, dict):
        return None if block_text(block) is not None else block_part(block)
    return JsonPart(content)


def _snapshot_of(update: dict[str, Any]) -> UniversalItem | None:
    snapshot = product_meta(update).get("item")
    if isinstance(snapshot, dict):
        return read_snapshot({"item_id": "", "kind": "tool_call", **snapshot})
    return None
