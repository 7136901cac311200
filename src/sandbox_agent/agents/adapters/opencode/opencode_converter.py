"""OpenCode: events and stored messages of its server -> ACP updates. Pure functions, no I/O.

Text arrives in chunks (`message.part.delta`) and complete (`message.part.updated`); streamed text is not
repeated. A tool call is one part whose state changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec
from acp.schema import ToolCallProgress, ToolCallStart

from sandbox_agent.agents.adapters.common import stream_json, updates
from sandbox_agent.agents.adapters.common.updates import Content, Kind, Output, Status, Unparsed, Update
from sandbox_agent.agents.adapters.opencode import schema as native

_Type = TypeVar("_Type")

QUIET = frozenset(
    "server.connected server.heartbeat plugin.added catalog.updated reference.updated session.status "
    "session.idle session.diff session.created session.deleted session.compacted message.removed "
    "message.part.removed permission.asked permission.replied question.asked question.replied "
    "question.rejected session.error file.edited file.watcher.updated lsp.updated lsp.client.diagnostics "
    "vcs.branch.updated project.updated command.executed mcp.tools.changed installation.updated "
    "permission.v2.asked permission.v2.replied question.v2.asked question.v2.replied "
    "question.v2.rejected integration.updated models-dev.refreshed skill.updated agent.updated "
    "command.updated provider.updated".split()
)
"""Known events without an update: the agent handles them, or clients have no use for them."""
_QUIET_PREFIXES = ("session.next.", "tui.", "pty.")
_QUIET_PARTS = frozenset("step-start step-finish snapshot patch agent compaction".split())
_KINDS: dict[str, Kind] = {
    **dict.fromkeys(("bash",), "execute"),
    **dict.fromkeys(("read", "list"), "read"),
    **dict.fromkeys(("edit", "write", "patch", "multiedit"), "edit"),
    **dict.fromkeys(("grep", "glob", "codesearch"), "search"),
    **dict.fromkeys(("webfetch", "websearch"), "fetch"),
    **dict.fromkeys(("task", "todowrite", "todoread"), "think"),
}
_STATUS: dict[str, Status] = {
    "pending": "pending",
    "running": "in_progress",
    "completed": "completed",
    "error": "failed",
}


class OpenCodeConverter:
    """The events of one session, in order."""

    def __init__(self) -> None:
        self._from_user: set[str] = set()
        self._kinds: dict[str, str] = {}
        self._title = ""
        self._streamed: set[str] = set()
        self._calls: set[str] = set()

    def event(self, event: Mapping[str, Any]) -> Output:
        """The updates for an event; `Unparsed` for an unknown or malformed one."""
        kind = str(event.get("type"))
        if kind in QUIET or kind.startswith(_QUIET_PREFIXES):
            return []
        convert = self._events.get(kind)
        if convert is None:
            return [Unparsed(kind, dict(event))]
        try:
            return convert(self, event.get("properties") or {})
        except (msgspec.ValidationError, KeyError, TypeError) as error:
            return [Unparsed(kind, dict(event), str(error) or type(error).__name__)]

    def stored(self, message: Mapping[str, Any]) -> Output:
        """A message of the history, including user messages."""
        info = message.get("info") or {}
        output: Output = []
        for part in message.get("parts") or []:
            if info.get("role") == "user":
                if part.get("type") == "text" and not part.get("synthetic"):
                    output.append(updates.user_message_chunk(msgspec.convert(part, native.TextPart).text))
            else:
                output += self.part(part)
        return output

    def part(self, raw: Mapping[str, Any]) -> Output:
        kind = str(raw.get("type"))
        if kind == "text":
            part = msgspec.convert(raw, native.TextPart)
            if part.message_id in self._from_user:
                return []
            self._kinds[part.id] = kind
            return self._unless_streamed(raw, part.id, part.text, updates.message_chunk)
        if kind == "reasoning":
            thought = msgspec.convert(raw, native.ReasoningPart)
            self._kinds[thought.id] = kind
            return self._unless_streamed(raw, thought.id, thought.text, updates.thought_chunk)
        if kind == "tool":
            return [self._tool(msgspec.convert(raw, native.ToolPart))]
        if kind == "file":
            file = msgspec.convert(raw, native.FilePart)
            return [] if file.message_id in self._from_user else [updates.meta_update(file=dict(raw))]
        if kind in ("subtask", "retry"):
            return [updates.meta_update(**{kind: dict(raw)})]
        return [] if kind in _QUIET_PARTS else [Unparsed(f"part/{kind}", dict(raw))]

    def _unless_streamed(
        self, raw: Mapping[str, Any], part_id: str, text: str, make: Callable[[str, str], Update]
    ) -> Output:
        finished = bool((raw.get("time") or {}).get("end"))
        if part_id in self._streamed or not text or not finished:
            return []
        self._streamed.add(part_id)
        return [make(text, part_id)]

    def _tool(self, part: native.ToolPart) -> Update:
        state: Mapping[str, Any] = part.state
        status = _STATUS.get(str(state.get("status")), "in_progress")
        output, raw_output = _outcome(state)
        arguments = dict(state.get("input") or {})
        title = state.get("title") or stream_json.title_of(part.tool, arguments)
        content: list[Content] = [updates.text_content(output)] if output else []
        fields: dict[str, Any] = {
            "tool_call_id": part.call_id,
            "title": title,
            "kind": _KINDS.get(part.tool, "other"),
            "status": status,
            "raw_input": arguments or None,
            "raw_output": raw_output,
            "content": (_change(arguments) + content) or None,
            "field_meta": updates.meta(toolName=part.tool),
        }
        if part.call_id in self._calls:
            return ToolCallProgress(session_update="tool_call_update", **fields)
        self._calls.add(part.call_id)
        return ToolCallStart(session_update="tool_call", **fields)

    def _message_updated(self, properties: Mapping[str, Any]) -> Output:
        info = properties["info"]
        if info.get("role") == "user":
            self._from_user.add(msgspec.convert(info, native.UserMessage).id)
        return []

    def _part_updated(self, properties: Mapping[str, Any]) -> Output:
        return self.part(properties["part"])

    def _part_delta(self, properties: Mapping[str, Any]) -> Output:
        part_id, delta = str(properties["partID"]), str(properties["delta"])
        if properties.get("field") != "text" or properties.get("messageID") in self._from_user:
            return []
        self._streamed.add(part_id)
        make = updates.thought_chunk if self._kinds.get(part_id) == "reasoning" else updates.message_chunk
        return [make(delta, part_id)]

    def _todos(self, properties: Mapping[str, Any]) -> Output:
        todos = msgspec.convert(properties["todos"], list[native.Todo])
        return [updates.plan_update([(todo.content, todo.status) for todo in todos])]

    def _session_updated(self, properties: Mapping[str, Any]) -> Output:
        session = msgspec.convert(properties["info"], native.Session)
        if session.title == self._title:
            return []
        self._title = session.title
        return [updates.title_update(session.title)]

    _events: Mapping[str, Callable[[OpenCodeConverter, Mapping[str, Any]], Output]] = {
        "message.updated": _message_updated,
        "message.part.updated": _part_updated,
        "message.part.delta": _part_delta,
        "todo.updated": _todos,
        "session.updated": _session_updated,
    }


def _outcome(state: Mapping[str, Any]) -> tuple[str, Any]:
    """The text and the raw output of a finished call."""
    if state.get("status") == "completed":
        done = msgspec.convert(state, native.ToolStateCompleted)
        return done.output, {"output": done.output, "metadata": done.metadata}
    if state.get("status") == "error":
        failed = msgspec.convert(state, native.ToolStateError)
        return failed.error, {"error": failed.error}
    return "", None


def _change(arguments: Mapping[str, Any]) -> list[Content]:
    path = arguments.get("filePath")
    if isinstance(path, str) and isinstance(text := arguments.get("content"), str):
        return [updates.diff_content(path, text)]
    if isinstance(path, str) and isinstance(new := arguments.get("newString"), str):
        return [updates.diff_content(path, new, arguments.get("oldString"))]
    return []
