"""The output of a turn: text on a terminal, or universal events as JSON lines."""

from __future__ import annotations

import sys
from typing import IO, Protocol

import click

from sandbox_agent.sdk.session.turns.turn_result import TurnResult
from sandbox_agent.sdk.universal import event_to_json
from sandbox_agent.sdk.universal.events import (
    ErrorEvent,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ItemUpdated,
    UniversalEvent,
)
from sandbox_agent.sdk.universal.items import (
    FileRefPart,
    ImagePart,
    ReasoningPart,
    StatusPart,
    ToolCallPart,
    UniversalItem,
)

_RESULT_LINES = 8
# Updates of a tool call that has ended are shown to programs only.
_LATE_UPDATE = "tool_call_update"


class Renderer(Protocol):
    def show(self, event: UniversalEvent) -> None: ...
    def finish(self, result: TurnResult) -> None: ...


class JsonLinesRenderer:
    """Universal events on stdout, one per line."""

    def show(self, event: UniversalEvent) -> None:
        sys.stdout.buffer.write(event_to_json(event) + b"\n")
        sys.stdout.buffer.flush()

    def finish(self, result: TurnResult) -> None:
        """The events already contain the result."""


class TerminalRenderer:
    """The agent's text on stdout; tools, thoughts and notices on stderr."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._streamed: set[str] = set()
        """Items whose text was shown as deltas."""
        self._calls: dict[str, str] = {}
        """The tool calls by item id, with the line shown last."""
        self._thoughts: set[str] = set()
        self._open_line: IO[str] | None = None
        """The stream whose last line has no end yet."""

    def show(self, event: UniversalEvent) -> None:
        if isinstance(event, ItemStarted):
            self._started(event.data.item)
        elif isinstance(event, ItemUpdated):
            self._call(event.data.item)
        elif isinstance(event, ItemDelta):
            if event.data.item_id not in self._calls:
                self._delta(event.data.item_id, event.data.delta)
        elif isinstance(event, ItemCompleted):
            self._completed(event.data.item)
        elif isinstance(event, ErrorEvent):
            self._notice(f"error: {event.data.message}", "red", always=True)

    def finish(self, result: TurnResult) -> None:
        self._end_line()
        if result.stop_reason != "end_turn":
            self._notice(f"stopped: {result.stop_reason}", "yellow", always=True)

    def _started(self, item: UniversalItem) -> None:
        if item.kind == "message" and item.role == "assistant":
            if any(isinstance(part, ReasoningPart) for part in item.content):
                self._thoughts.add(item.item_id)
        elif item.kind == "tool_call":
            self._calls[item.item_id] = ""
            self._call(item)

    def _call(self, item: UniversalItem, *, whole: bool = False) -> None:
        """Show a tool call once its arguments are known; its output is shown with its result."""
        for part in item.content:
            if isinstance(part, ToolCallPart) and (whole or part.arguments != "{}"):
                line = f"[{part.name}] {part.arguments}"
                if self._calls.get(item.item_id) != line:
                    self._calls[item.item_id] = line
                    self._notice(line, "cyan")

    def _delta(self, item_id: str, text: str) -> None:
        self._streamed.add(item_id)
        thought = item_id in self._thoughts
        if thought and self._quiet:
            return
        stream = sys.stderr if thought else sys.stdout
        if self._open_line not in (None, stream):
            self._end_line()
        click.secho(text, file=stream, dim=thought or None, nl=False)
        stream.flush()
        self._open_line = None if text.endswith("\n") else stream

    def _completed(self, item: UniversalItem) -> None:
        if item.kind == "message" and item.role == "assistant":
            if item.item_id not in self._streamed and item.text:
                self._delta(item.item_id, item.text)
            for part in item.content:
                if isinstance(part, ImagePart):
                    self._notice(f"[image {part.mime or ''} {part.path[:60]}]", "cyan")
            self._end_line()
        elif item.kind == "tool_call":
            self._call(item, whole=True)
        elif item.kind == "tool_result":
            self._result(item)
        elif item.kind == "status":
            for status in item.content:
                if isinstance(status, StatusPart) and status.label != _LATE_UPDATE:
                    self._notice(f"{status.label}: {status.detail or ''}".rstrip(": "), None)

    def _result(self, item: UniversalItem) -> None:
        failed = item.status == "failed"
        for part in item.content:
            if isinstance(part, FileRefPart):
                self._notice(f"  {part.action} {part.path}", "cyan")
                if part.diff:
                    self._notice(_first_lines(part.diff), None)
            elif output := getattr(part, "output", getattr(part, "text", "")):
                self._notice(_first_lines(str(output)), "red" if failed else None)
        if failed:
            self._notice("  failed", "red")

    def _notice(self, text: str, colour: str | None, *, always: bool = False) -> None:
        if self._quiet and not always:
            return
        self._end_line()
        click.secho(text, fg=colour, dim=colour is None, err=True)

    def _end_line(self) -> None:
        if self._open_line is not None:
            click.echo(file=self._open_line)
            self._open_line = None


def _first_lines(text: str) -> str:
    lines = text.rstrip().splitlines()
    shown = [f"  {line[:200]}" for line in lines[:_RESULT_LINES]]
    if len(lines) > _RESULT_LINES:
        shown.append(f"  ... {len(lines) - _RESULT_LINES} more lines")
    return "\n".join(shown)
