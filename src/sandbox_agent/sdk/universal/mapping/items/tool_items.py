"""Tool calls: one item for the call, a second one for its result.

An update that changes name, arguments, kind or title gives `item.updated`; output that grew gives
`item.delta`. An item is completed once: an update after a final status becomes a status item.
"""

from __future__ import annotations

import copy
from typing import Any

from msgspec import Struct

from sandbox_agent.sdk.universal.event_data import OutputDeltaData
from sandbox_agent.sdk.universal.items import ItemStatus, JsonPart, StatusPart, UniversalItem
from sandbox_agent.sdk.universal.json_reading import as_text
from sandbox_agent.sdk.universal.mapping.items.item_lifecycle import ItemLifecycle, read_snapshot
from sandbox_agent.sdk.universal.mapping.items.tool_call import ToolCall, diffs_of
from sandbox_agent.sdk.universal.meta import item_facts, product_meta

KEPT_CALLS = 1000
"""How many completed calls are remembered, for updates that come late; the state of a mapper stays small."""


class ToolsState(Struct):
    """The tool calls of the session by their `toolCallId`, and the number of turns so far."""

    calls: dict[str, ToolCall] = {}
    turn: int = 0
    asked_diffs: dict[str, list[Any]] = {}
    """Diffs of permission requests for calls that come later."""
    refused: dict[str, dict[str, Any]] = {}
    """Calls that the user refused before the agent announced them, which it may still do."""


class Tools:
    """The tool calls of the session by their `toolCallId`."""

    def __init__(self, items: ItemLifecycle, state: ToolsState) -> None:
        self._items = items
        self._state = state
        self._tools = state.calls
        self._running = {call_id: tool for call_id, tool in state.calls.items() if not tool.completed}

    def facts(self, call_id: str | None) -> dict[str, Any]:
        """The merged ACP fields of a call; empty if it is unknown."""
        tool = self._tools.get(call_id or "")
        return tool.facts() if tool else {}

    def requested(self, tool_call: dict[str, Any]) -> None:
        """Merge what a permission request says about a call; some agents ask before they announce it."""
        call_id = as_text(tool_call.get("toolCallId")) or ""
        tool = self._running.get(call_id)
        self.show_refused(announced=call_id)
        self._state.refused.pop(call_id, None)
        if call_id not in self._tools and (diffs := diffs_of(tool_call)):
            self._state.asked_diffs[call_id] = diffs
        if tool is not None:
            before = tool.call_content()
            tool.request(tool_call)
            if tool.call_content() != before:
                self._items.update(tool.item, tool.call_content(), synthetic=True)

    def rejected(self, tool_call: dict[str, Any], *, by_choice: bool) -> None:
        """A call was not allowed."""
        call_id = as_text(tool_call.get("toolCallId"))
        if (running := self._running.get(call_id or "")) is not None:
            running.rejected = True
        elif by_choice and call_id is not None and call_id not in self._tools and not self._running:
            self._state.refused[call_id] = {key: tool_call[key] for key in tool_call if key != "status"}

    def show_refused(self, announced: str | None = None) -> None:
        """Add a failed item for each refused call except `announced`: the agent has gone on without it."""
        for call_id in [one for one in self._state.refused if one != announced]:
            self._create(self._state.refused[call_id], call_id, None, synthetic=True)
            self._complete(self._tools[call_id], "failed", synthetic=True, with_result=False)

    def call(self, update: dict[str, Any], call_id: str, parent_id: str | None) -> None:
        """A `tool_call`: a new item, or an update of the one with this id."""
        self.show_refused(announced=call_id)
        known = self._tools.get(call_id)
        if known is None or (known.completed and known.turn < self._state.turn):
            self._create(update, call_id, parent_id, synthetic=False)
        else:
            self._apply(known, update)

    def update(self, update: dict[str, Any], call_id: str, parent_id: str | None) -> None:
        """A `tool_call_update`; for an unknown id the item is created first."""
        self.show_refused(announced=call_id)
        known = self._tools.get(call_id)
        if known is None:
            self._create(update, call_id, parent_id, synthetic=True)
        else:
            self._apply(known, update)

    def close_all(self, status: ItemStatus) -> None:
        """Complete the open calls at the end of a turn; output without a final status is kept."""
        self.show_refused()
        for tool in list(self._running.values()):
            ended: ItemStatus = "failed" if tool.rejected else status
            self._complete(tool, ended, synthetic=True, with_result=tool.has_output())
        self._state.turn += 1
        self._state.asked_diffs.clear()

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
        tool = self._tools[call_id] = self._running[call_id] = ToolCall(call_id, item, self._state.turn)
        tool.asked_diffs = self._state.asked_diffs.pop(call_id, [])
        tool.rejected = self._state.refused.pop(call_id, None) is not None
        if (status := _final_status(update)) is None:
            tool.announce(update)
            self._items.start(item, tool.call_content(), synthetic=synthetic)
            if output := tool.output():
                self._items.delta(item, output, OutputDeltaData)
        else:
            tool.merge(update, final=True)
            self._items.start(item, tool.call_content(), synthetic=synthetic)
            self._complete(tool, status, snapshot=_snapshot_of(update))

    def _apply(self, tool: ToolCall, update: dict[str, Any]) -> None:
        if tool.completed:
            self._late(tool, update)
            return
        status = _final_status(update)
        if status is None:
            self._grow(tool, update)
        else:
            tool.merge(update, final=True)
            self._complete(tool, status, snapshot=_snapshot_of(update))

    def _grow(self, tool: ToolCall, update: dict[str, Any]) -> None:
        content, output = tool.call_content(), tool.output()
        tool.merge(update)
        if tool.call_content() != content:
            self._items.update(tool.item, tool.call_content(), synthetic=False)
        if (now := tool.output()) != output and now.startswith(output):
            self._items.delta(tool.item, now[len(output) :], OutputDeltaData)

    def _complete(
        self,
        tool: ToolCall,
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

    def _finish(self, tool: ToolCall) -> None:
        self._running.pop(tool.call_id, None)
        tool.finish()
        # Moved to the end, so that the calls at the front are those that completed first.
        del self._tools[tool.call_id]
        self._tools[tool.call_id] = tool
        if len(self._tools) > KEPT_CALLS + len(self._running):
            oldest = next(call_id for call_id, one in self._tools.items() if one.completed)
            del self._tools[oldest]

    def _late(self, tool: ToolCall, update: dict[str, Any]) -> None:
        # A completed call is shared between copies of the mapper.
        clone = self._tools[tool.call_id] = copy.copy(tool)
        clone.fields = dict(tool.fields)
        clone.merge(update, final=True)
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


def _snapshot_of(update: dict[str, Any]) -> UniversalItem | None:
    snapshot = product_meta(update).get("item")
    if isinstance(snapshot, dict):
        return read_snapshot({"item_id": "", "kind": "tool_call", **snapshot})
    return None
