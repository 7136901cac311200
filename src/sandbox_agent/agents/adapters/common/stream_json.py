"""The stream-json format of Claude and Amp: messages of text, thinking, tool_use and tool_result blocks.

Pure functions that map tool names and arguments to ACP kinds, titles and diffs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from acp.schema import ToolCallLocation, ToolCallProgress, ToolCallStart

from sandbox_agent.agents.adapters.common import updates
from sandbox_agent.agents.adapters.common.prompt_blocks import PromptPart, PromptText
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
_TITLE_ARGUMENTS = ("command", "cmd", "file_path", "path", "pattern", "query", "url", "description", "prompt")
_TITLE_LENGTH = 200


def user_block(part: PromptPart) -> dict[str, Any]:
    """A part of the user's prompt."""
    if isinstance(part, PromptText):
        return {"type": "text", "text": part.text}
    source = {"type": "base64", "media_type": part.mime_type, "data": part.data}
    return {"type": "image", "source": source}


def kind_of(tool: str) -> Kind:
    return _KINDS.get(tool, "other")


def title_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """The most descriptive argument, or the tool's name."""
    for name in _TITLE_ARGUMENTS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return (value if name in ("command", "cmd") else f"{tool} {value}")[:_TITLE_LENGTH]
    return tool


def content_of(arguments: Mapping[str, Any]) -> list[Content]:
    """What can be shown before the call runs: the file change it will make."""
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
    call_id: str, tool: str, arguments: Mapping[str, Any], *, started: bool = False, parent: str | None = None
) -> ToolCallStart | ToolCallProgress:
    """A call with complete arguments; `started` if the client already knows the call."""
    path = arguments.get("file_path") or arguments.get("path")
    values: dict[str, Any] = {"toolName": tool} | ({"parentToolCallId": parent} if parent else {})
    fields: dict[str, Any] = {
        "tool_call_id": call_id,
        "title": title_of(tool, arguments),
        "kind": kind_of(tool),
        "status": "in_progress",
        "raw_input": dict(arguments),
        "content": content_of(arguments) or None,
        "locations": [ToolCallLocation(path=path)] if isinstance(path, str) else None,
        "field_meta": updates.meta(**values),
    }
    if started:
        return ToolCallProgress(session_update="tool_call_update", **fields)
    return ToolCallStart(session_update="tool_call", **fields)


def pending_tool_call(call_id: str, tool: str) -> ToolCallStart:
    """A call whose arguments are still being streamed."""
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=call_id,
        title=tool,
        kind=kind_of(tool),
        status="pending",
        field_meta=updates.meta(toolName=tool),
    )


def tool_result(call_id: str, content: Any, *, failed: bool, raw: Any = None) -> ToolCallProgress:
    """A result with its text; `raw` is what the vendor has sent, if that is not `content`."""
    text = result_text(content)
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call_id,
        status="failed" if failed else "completed",
        content=[updates.text_content(text)] if text else None,
        raw_output=content if raw is None else raw,
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


def turn_usage(raw: Mapping[str, Any]) -> list[Update | Unparsed]:
    """Tokens and cost of a turn, from its `result` line; in `_meta`, because ACP has no update for them."""
    known = {key: raw[key] for key in ("usage", "modelUsage", "total_cost_usd") if raw.get(key)}
    return [updates.meta_update(turn=known)] if known else []


def todo_plan(arguments: Mapping[str, Any]) -> list[Update]:
    """A call of TodoWrite as a plan."""
    todos = [todo for todo in arguments.get("todos") or [] if isinstance(todo, dict)]
    return [updates.plan_update([(str(todo.get("content")), str(todo.get("status"))) for todo in todos])]
