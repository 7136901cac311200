"""What Claude and Amp have in common: messages with blocks of text, thoughts, tool calls and tool results.

The names of their tools become ACP kinds, titles and diffs here; everything is pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from acp.schema import ToolCallLocation, ToolCallProgress, ToolCallStart

from sandbox_agent.agents.adapters.common import updates
from sandbox_agent.agents.adapters.common.prompt import Picture, Text
from sandbox_agent.agents.adapters.common.updates import Content, Kind, Unparsed, Update

_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("Bash", "BashOutput", "KillShell"), "execute"),
    **dict.fromkeys(("Read", "NotebookRead", "look_at"), "read"),
    **dict.fromkeys(("Write", "Edit", "MultiEdit", "NotebookEdit", "create_file", "edit_file"), "edit"),
    **dict.fromkeys(("Grep", "Glob", "finder", "ToolSearch", "librarian"), "search"),
    **dict.fromkeys(("WebFetch", "WebSearch", "web_search", "read_web_page"), "fetch"),
    **dict.fromkeys(("Task", "Agent", "oracle", "TodoWrite"), "think"),
    "ExitPlanMode": "switch_mode",
}
_SHOWN_FIRST = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt")
_TITLE_LENGTH = 200


def user_block(part: Text | Picture) -> dict[str, Any]:
    """A part of the user's prompt."""
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    source = {"type": "base64", "media_type": part.mime_type, "data": part.data}
    return {"type": "image", "source": source}


def kind_of(tool: str) -> Kind:
    return _KINDS.get(tool, "other")


def title_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """The most telling argument, or the tool's name."""
    for name in _SHOWN_FIRST:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return (value if name in ("command", "cmd") else f"{tool} {value}")[:_TITLE_LENGTH]
    return tool


def content_of(tool: str, arguments: Mapping[str, Any]) -> list[Content]:
    """What can be shown of a call before it has run: the change it is going to make."""
    path = arguments.get("file_path") or arguments.get("path")
    if not isinstance(path, str):
        return []
    if isinstance(text := arguments.get("content"), str):
        return [updates.diff_content(path, text)]
    new = arguments.get("new_string", arguments.get("new_str"))
    if isinstance(new, str):
        return [updates.diff_content(path, new, arguments.get("old_string", arguments.get("old_str")))]
    return []


def tool_call(
    call_id: str, tool: str, arguments: Mapping[str, Any], *, again: bool = False, parent: str | None = None
) -> ToolCallStart | ToolCallProgress:
    """A call whose arguments are complete; `again` if the client has heard of it."""
    path = arguments.get("file_path") or arguments.get("path")
    values: dict[str, Any] = {"toolName": tool} | ({"parentToolCallId": parent} if parent else {})
    fields: dict[str, Any] = {
        "tool_call_id": call_id,
        "title": title_of(tool, arguments),
        "kind": kind_of(tool),
        "status": "in_progress",
        "raw_input": dict(arguments),
        "content": content_of(tool, arguments) or None,
        "locations": [ToolCallLocation(path=path)] if isinstance(path, str) else None,
        "field_meta": updates.meta(**values),
    }
    if again:
        return ToolCallProgress(session_update="tool_call_update", **fields)
    return ToolCallStart(session_update="tool_call", **fields)


def announced(call_id: str, tool: str) -> ToolCallStart:
    """A call whose arguments are still being written."""
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=call_id,
        title=tool,
        kind=kind_of(tool),
        status="pending",
        field_meta=updates.meta(toolName=tool),
    )


def tool_result(call_id: str, content: Any, *, failed: bool) -> ToolCallProgress:
    text = result_text(content)
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        status="failed" if failed else "completed",
        content=[updates.text_content(text)] if text else None,
        raw_output=content,
    )


def result_text(content: Any) -> str:
    """The text of a tool's result, which is a string or a list of blocks."""
    if content is None or isinstance(content, str):
        return content or ""
    if isinstance(content, list):
        return "\n".join(
            str(block.get("text", "")) for block in content if isinstance(block, dict) and "text" in block
        )
    return json.dumps(content)


def bill(raw: Mapping[str, Any]) -> list[Update | Unparsed]:
    """What a turn has cost, of the line that ends it: ACP has no update for it."""
    known = {key: raw[key] for key in ("usage", "modelUsage", "total_cost_usd") if raw.get(key)}
    return [updates.note(turn=known)] if known else []


def todo_plan(arguments: Mapping[str, Any]) -> list[Update]:
    """A call of TodoWrite as a plan."""
    todos = [todo for todo in arguments.get("todos") or [] if isinstance(todo, dict)]
    return [updates.plan([(str(todo.get("content")), str(todo.get("status"))) for todo in todos])]
