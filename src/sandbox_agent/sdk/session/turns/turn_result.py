"""The result of a turn: its text, tool calls, changed files, usage and why the agent stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sandbox_agent.sdk.universal import (
    FileRefPart,
    ItemCompleted,
    ItemStatus,
    TextPart,
    ToolCallPart,
    ToolLocation,
    ToolResultPart,
    TurnEnded,
    TurnStarted,
    UniversalEvent,
    UniversalItem,
    Usage,
)


@dataclass(frozen=True, slots=True)
class ToolUse:
    """One tool call of a turn with its result; `children` are the calls of a sub-agent that it ran."""

    call_id: str
    name: str
    kind: str | None
    """ACP's kind of tool: `read`, `edit`, `execute`, ..."""
    title: str | None
    status: ItemStatus
    raw_input: Any
    output: str
    locations: list[ToolLocation] = field(default_factory=list)
    changes: list[FileRefPart] = field(default_factory=list, repr=False)
    """The files that it wrote or patched, with their diffs."""
    children: list[ToolUse] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class TurnResult:
    """The result of a turn."""

    stop_reason: str
    """`end_turn`, `max_tokens`, `max_turn_requests`, `refusal` or `cancelled`; `error` on `error.result`."""
    text: str
    """The text of the agent's messages in this turn."""
    usage: Usage | None
    turn_id: str
    items: list[UniversalItem] = field(repr=False)
    """The completed messages, tool calls and results."""
    events: list[UniversalEvent] = field(repr=False)
    raw: dict[str, Any] = field(repr=False)
    """The agent's answer to `session/prompt`."""

    @property
    def tool_calls(self) -> list[ToolUse]:
        """The tool calls in order; those of a sub-agent are `children` of the call that ran it."""
        return tool_tree(self.items)

    @property
    def changes(self) -> list[FileRefPart]:
        """The files that tools wrote or patched, with their diffs, in order."""
        return [part for item in self.items for part in _changes(item)]

    @property
    def duration_s(self) -> float | None:
        """Seconds from the prompt to the answer."""
        begun = next((event.time for event in self.events if isinstance(event, TurnStarted)), None)
        ended = next((event.time for event in reversed(self.events) if isinstance(event, TurnEnded)), None)
        if begun is None or ended is None:
            return None
        return (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds()


def tool_tree(items: Sequence[UniversalItem]) -> list[ToolUse]:
    """The tool calls among completed items, with their results, as a tree."""
    results = {item.parent_id: item for item in items if item.kind == "tool_result"}
    uses: dict[str, ToolUse] = {}
    parents: dict[str, str | None] = {}
    for item in items:
        call = next((part for part in item.content if isinstance(part, ToolCallPart)), None)
        if item.kind == "tool_call" and call is not None:
            uses[call.call_id] = _tool_use(item, call, results.get(item.item_id))
            parents[call.call_id] = call.parent_call_id
    # A call completes after those of the sub-agent that it runs.
    roots: list[ToolUse] = []
    for call_id, use in uses.items():
        parent = uses.get(parents[call_id] or "")
        (roots if parent is None or parent is use else parent.children).append(use)
    return roots


def _tool_use(item: UniversalItem, call: ToolCallPart, result: UniversalItem | None) -> ToolUse:
    outputs = [part.output for part in result.content if isinstance(part, ToolResultPart)] if result else []
    return ToolUse(
        call_id=call.call_id,
        name=call.name,
        kind=call.kind,
        title=call.title,
        status=item.status,
        raw_input=call.raw_input,
        output="\n".join(outputs),
        locations=call.locations,
        changes=_changes(result) if result else [],
    )


def _changes(item: UniversalItem) -> list[FileRefPart]:
    return [part for part in item.content if isinstance(part, FileRefPart) and part.action != "read"]


def completed_items(events: Sequence[UniversalEvent]) -> list[UniversalItem]:
    """The items that these events complete."""
    return [event.item for event in events if isinstance(event, ItemCompleted)]


def final_text(items: Sequence[UniversalItem]) -> str:
    """The text of the completed messages, which ACP v2 may have replaced since their deltas."""
    messages = [item for item in items if item.kind == "message" and item.role == "assistant"]
    return "".join(part.text for item in messages for part in item.content if isinstance(part, TextPart))
