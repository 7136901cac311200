"""Codex: notifications and items of the app-server -> ACP updates. Pure functions, no I/O.

`CodexConverter` remembers which messages of a thread were streamed, so that the completed item does not
repeat them, which tool calls the client knows, and which calls of MCP servers run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from acp.schema import ToolCallLocation, ToolCallProgress, ToolCallStart

from sandbox_agent.agents.adapters.codex import schema as native
from sandbox_agent.agents.adapters.common import updates
from sandbox_agent.agents.adapters.common.updates import Content, Kind, Output, Status, Unparsed, Update

_Convert = Callable[[Mapping[str, Any]], Output]
_Delta = (
    native.AgentMessageDeltaNotification
    | native.PlanDeltaNotification
    | native.ReasoningSummaryTextDeltaNotification
    | native.ReasoningTextDeltaNotification
)

QUIET = frozenset(
    "thread/started thread/status/changed thread/readState/changed thread/closed thread/settings/updated "
    "turn/started turn/completed turn/diff/updated account/rateLimits/updated account/updated configWarning "
    "remoteControl/status/changed serverRequest/resolved item/reasoning/summaryPartAdded skills/changed "
    "mcpServer/startupStatus/updated item/fileChange/patchUpdated item/fileChange/outputDelta "
    "thread/environment/connected thread/goal/cleared deprecationNotice "
    "item/commandExecution/terminalInteraction".split()
)
"""Known notifications without an update: the app-server's own state, or repeated in others."""
_STATUS: dict[str, Status] = {"completed": "completed", "failed": "failed", "declined": "failed"}


class CodexConverter:
    """The events of one thread, in order."""

    def __init__(self) -> None:
        self._streamed: set[str] = set()
        self._started: set[str] = set()
        self._mcp_calls: dict[str, str] = {}
        message, thought = updates.message_chunk, updates.thought_chunk
        summary = native.ReasoningSummaryTextDeltaNotification
        self._notifications: dict[str, _Convert] = {
            "item/agentMessage/delta": self._delta(native.AgentMessageDeltaNotification, message),
            "item/plan/delta": self._delta(native.PlanDeltaNotification, message),
            "item/reasoning/summaryTextDelta": self._delta(summary, thought),
            "item/reasoning/textDelta": self._delta(native.ReasoningTextDeltaNotification, thought),
            "item/commandExecution/outputDelta": self._output_delta,
            "item/mcpToolCall/progress": self._mcp_progress,
            "item/started": self._item_started,
            "item/completed": self._item_completed,
            "turn/plan/updated": _plan,
            "thread/tokenUsage/updated": _usage,
            "thread/name/updated": _name,
            "warning": _warning,
            "error": _retry,
        }

    def notification(self, method: str, params: Mapping[str, Any]) -> Output:
        """The updates for a notification; `Unparsed` for an unknown or malformed one."""
        if method in QUIET:
            return []
        convert = self._notifications.get(method)
        if convert is None:
            return [Unparsed(method, dict(params))]
        try:
            return convert(params)
        except msgspec.ValidationError as error:
            return [Unparsed(method, dict(params), str(error))]

    def item(self, raw: Mapping[str, Any], *, done: bool = True, replay: bool = False) -> Output:
        """An item of a turn, started or (`done`) completed; with `replay` also user messages."""
        kind = raw.get("type")
        if kind == "userMessage":
            return _user_message(raw) if replay else []
        if kind == "agentMessage":
            message = msgspec.convert(raw, native.AgentMessageThreadItem)
            return self._unless_streamed(message.id, message.text, updates.message_chunk) if done else []
        if kind == "plan":
            plan = msgspec.convert(raw, native.PlanThreadItem)
            return self._unless_streamed(plan.id, plan.text, updates.message_chunk) if done else []
        if kind == "reasoning":
            reasoning = msgspec.convert(raw, native.ReasoningThreadItem)
            text = "\n\n".join(reasoning.summary or reasoning.content or [])
            return self._unless_streamed(reasoning.id, text, updates.thought_chunk) if done else []
        if kind == "mcpToolCall":
            self._note_mcp_call(msgspec.convert(raw, native.McpToolCallThreadItem), done)
        if kind in _TOOLS:
            return [self._tool(_TOOLS[kind](raw), done)]
        return [Unparsed(f"item/{kind}", dict(raw))] if done else []

    def running_mcp_call(self, server: str) -> str | None:
        """The id of the newest running call of a tool of this MCP server."""
        return next((call for call, of in reversed(self._mcp_calls.items()) if of == server), None)

    def _unless_streamed(self, item_id: str, text: str, make: Callable[[str, str], Update]) -> Output:
        return [] if item_id in self._streamed or not text else [make(text, item_id)]

    def _note_mcp_call(self, item: native.McpToolCallThreadItem, done: bool) -> None:
        if done:
            self._mcp_calls.pop(item.id, None)
        else:
            self._mcp_calls[item.id] = item.server

    def _tool(self, call: ToolCallStart, done: bool) -> Update:
        if call.tool_call_id not in self._started:
            self._started.add(call.tool_call_id)
            if not done:
                call.status = "in_progress"
            return call
        fields = call.model_dump(exclude={"session_update"})
        return ToolCallProgress(session_update="tool_call_update", **fields)

    def _item_started(self, raw: Mapping[str, Any]) -> Output:
        return self.item(msgspec.convert(raw, native.ItemStartedNotification).item, done=False)

    def _item_completed(self, raw: Mapping[str, Any]) -> Output:
        return self.item(msgspec.convert(raw, native.ItemCompletedNotification).item)

    def _delta(self, schema: type[_Delta], make: Callable[[str, str], Update]) -> _Convert:
        """A handler for one kind of streamed text."""

        def convert(raw: Mapping[str, Any]) -> Output:
            delta = msgspec.convert(raw, schema)
            self._streamed.add(delta.item_id)
            return [make(delta.delta, delta.item_id)]

        return convert

    def _output_delta(self, raw: Mapping[str, Any]) -> Output:
        """ACP updates replace a tool call's content, so the new output is sent in `_meta`."""
        delta = msgspec.convert(raw, native.CommandExecutionOutputDeltaNotification)
        return [_in_progress(delta.item_id, outputDelta=delta.delta)]

    def _mcp_progress(self, raw: Mapping[str, Any]) -> Output:
        progress = msgspec.convert(raw, native.McpToolCallProgressNotification)
        return [_in_progress(progress.item_id, progress=progress.message)]


def _in_progress(item_id: str, **values: Any) -> ToolCallProgress:
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=item_id,
        status="in_progress",
        field_meta=updates.meta(**values),
    )


def _user_message(raw: Mapping[str, Any]) -> Output:
    parts = msgspec.convert(raw, native.UserMessageThreadItem).content
    texts = [msgspec.convert(part, native.TextUserInput).text for part in parts if part.get("type") == "text"]
    return [updates.user_message_chunk(text) for text in texts]


def _plan(raw: Mapping[str, Any]) -> Output:
    plan = msgspec.convert(raw, native.TurnPlanUpdatedNotification)
    return [updates.plan_update([(step.step, step.status) for step in plan.plan])]


def _usage(raw: Mapping[str, Any]) -> Output:
    usage = msgspec.convert(raw, native.ThreadTokenUsageUpdatedNotification).token_usage
    if not usage.model_context_window:
        return []
    return [updates.usage_update(usage.last.total_tokens, usage.model_context_window)]


def _name(raw: Mapping[str, Any]) -> Output:
    name = msgspec.convert(raw, native.ThreadNameUpdatedNotification).thread_name
    return [updates.title_update(name)] if name else []


def _warning(raw: Mapping[str, Any]) -> Output:
    warning = msgspec.convert(raw, native.WarningNotification)
    return [updates.meta_update(warning=warning.message)]


def _retry(raw: Mapping[str, Any]) -> Output:
    """An error that ends the turn is reported with the turn; one that is retried is reported here."""
    error = msgspec.convert(raw, native.ErrorNotification)
    return [updates.meta_update(retrying=error.error.message)] if error.will_retry else []


def _command(raw: Mapping[str, Any]) -> ToolCallStart:
    item = msgspec.convert(raw, native.CommandExecutionThreadItem)
    output = item.aggregated_output
    result = None if item.exit_code is None else {"exitCode": item.exit_code, "output": output or ""}
    raw_input = {"command": item.command, "cwd": item.cwd}
    content: list[Content] = [updates.text_content(output)] if output else []
    return _call(item.id, item.command, "execute", item.status, raw_input, content, raw_output=result)


def _file_change(raw: Mapping[str, Any]) -> ToolCallStart:
    item = msgspec.convert(raw, native.FileChangeThreadItem)
    paths = [change.path for change in item.changes]
    content = [_change(change) for change in item.changes]
    raw_input = {"changes": raw.get("changes")}
    title = f"Edit {', '.join(paths)}"
    return _call(item.id, title, "edit", item.status, raw_input, content, paths=paths)


def _change(change: native.FileUpdateChange) -> Content:
    if change.kind.get("type") == "add":
        return updates.diff_content(change.path, change.diff)
    return updates.text_content(change.diff)


def _mcp_call(raw: Mapping[str, Any]) -> ToolCallStart:
    item = msgspec.convert(raw, native.McpToolCallThreadItem)
    result = item.error.message if item.error else item.result
    content: list[Content] = [updates.text_content(_result_text(result))] if result else []
    title = f"{item.server}.{item.tool}"
    return _call(item.id, title, "other", item.status, item.arguments, content, raw_output=result)


def _web_search(raw: Mapping[str, Any]) -> ToolCallStart:
    item = msgspec.convert(raw, native.WebSearchThreadItem)
    return _call(item.id, f"Search the web: {item.query}", "search", "completed", {"query": item.query}, [])


_TOOLS: dict[str, Callable[[Mapping[str, Any]], ToolCallStart]] = {
    "commandExecution": _command,
    "fileChange": _file_change,
    "mcpToolCall": _mcp_call,
    "webSearch": _web_search,
}


def _call(
    item_id: str,
    title: str,
    kind: Kind,
    status: str,
    raw_input: Any,
    content: list[Content],
    *,
    raw_output: Any = None,
    paths: list[str] | None = None,
) -> ToolCallStart:
    return ToolCallStart(
        session_update="tool_call",
        tool_call_id=item_id,
        title=title,
        kind=kind,
        status=_STATUS.get(status, "in_progress"),
        raw_input=raw_input,
        content=content or None,
        raw_output=raw_output,
        locations=[ToolCallLocation(path=path) for path in paths] if paths else None,
    )


def _result_text(result: Any) -> str:
    if isinstance(result, str):
        return result
    blocks = result.get("content", []) if isinstance(result, dict) else []
    texts = [block["text"] for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    return "\n".join(texts) or msgspec.json.encode(result).decode()
