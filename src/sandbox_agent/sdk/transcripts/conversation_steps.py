"""The steps of a conversation, read from the events of a session: messages, thoughts and tool calls.

Every format of a transcript is written from these steps. They are in the order in which they began; an item
that has not ended yet is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from sandbox_agent.sdk.universal import ItemCompleted, ItemStarted, UniversalEvent, UniversalItem
from sandbox_agent.sdk.universal.items import (
    FileRefPart,
    ImagePart,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

Source = Literal["user", "agent", "system"]
_SOURCES: dict[str, Source] = {"user": "user", "assistant": "agent", "system": "system"}


@dataclass(slots=True)
class Message:
    """A message of the user, the agent or the system; a thought alone has no text."""

    source: Source
    time: str
    text: str = ""
    thoughts: str = ""


@dataclass(slots=True)
class ToolStep:
    """A tool call with its result."""

    time: str
    began: int
    """The sequence of its first event."""
    call: ToolCallPart
    failed: bool = False
    ended: int | None = None
    """The sequence of its result; None without one."""
    outputs: list[str] = field(default_factory=list)
    diffs: list[str] = field(default_factory=list)

    @property
    def result(self) -> str:
        """What the tool returned: its output and the changes that it made."""
        return "\n".join([*self.outputs, *self.diffs])


Step = Message | ToolStep


class StepReader:
    """Collects the steps of one session from its events."""

    def __init__(self) -> None:
        self._steps: dict[str, Step | None] = {}
        """By item id, in the order in which items began; None for one that has not ended."""
        self._began: dict[str, tuple[int, str]] = {}
        self._calls: dict[str, ToolStep] = {}

    def take(self, event: UniversalEvent) -> None:
        if isinstance(event, ItemStarted):
            self._begin(event.item.item_id, event)
        elif isinstance(event, ItemCompleted):
            self._begin(event.item.item_id, event)
            if event.item.kind == "message":
                self._steps[event.item.item_id] = _message(event.item, self._began[event.item.item_id][1])
            elif event.item.kind == "tool_call":
                self._call(event.item)
            elif event.item.kind == "tool_result":
                self._result(event.item, event.sequence)

    def steps(self) -> list[Step]:
        """The steps so far."""
        return [step for step in self._steps.values() if step is not None]

    def _begin(self, item_id: str, event: ItemStarted | ItemCompleted) -> None:
        if item_id not in self._began:
            self._began[item_id] = event.sequence, event.time
            self._steps[item_id] = None

    def _call(self, item: UniversalItem) -> None:
        call = next((part for part in item.content if isinstance(part, ToolCallPart)), None)
        if call is not None:
            began, time = self._began[item.item_id]
            step = ToolStep(time, began, call, failed=item.status == "failed")
            self._steps[item.item_id] = self._calls[call.call_id] = step

    def _result(self, item: UniversalItem, sequence: int) -> None:
        results = [part for part in item.content if isinstance(part, ToolResultPart)]
        step = self._calls.get(results[0].call_id) if results else None
        if step is not None:
            step.ended = sequence
            step.outputs = [part.output for part in results if part.output]
            step.diffs = [part.diff for part in item.content if isinstance(part, FileRefPart) and part.diff]


def read_steps(events: Iterable[UniversalEvent]) -> list[Step]:
    """The steps in these events."""
    reader = StepReader()
    for event in events:
        reader.take(event)
    return reader.steps()


def _message(item: UniversalItem, time: str) -> Message | None:
    source = _SOURCES.get(item.role or "")
    if source is None:
        return None
    said = "".join(part.text for part in item.content if isinstance(part, TextPart))
    named = [f"[file {part.path}]" for part in item.content if isinstance(part, FileRefPart)]
    named += [f"[image {part.path or part.mime}]" for part in item.content if isinstance(part, ImagePart)]
    thoughts = "".join(part.text for part in item.content if isinstance(part, ReasoningPart))
    return Message(source, time, "\n".join([*([said] if said else []), *named]), thoughts)
