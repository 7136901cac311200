"""Claude: lines of `--output-format stream-json` -> ACP updates. Pure functions, no I/O.

A message arrives twice, in chunks and complete; streamed text is not repeated. The end of a turn (`result`)
and control requests are not sent to the client: the agent reads them with `read_result` and
`read_permission`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from sandbox_agent.agents.adapters.claude import schema as native
from sandbox_agent.agents.adapters.common import stream_json, updates
from sandbox_agent.agents.adapters.common.updates import Output, Unparsed

_Type = TypeVar("_Type")
Result = native.SDKResultSuccess | native.SDKResultError

_QUIET_SUBTYPES = frozenset(
    "init thinking_tokens hook_started hook_progress hook_response session_state_changed files_persisted "
    "commands_changed background_tasks_changed task_started task_updated task_progress task_notification "
    "permission_denied worker_shutting_down plugin_install elicitation_complete".split()
)
_QUIET_TYPES = frozenset({"control_request", "control_response", "control_cancel_request", "keep_alive"})
_QUIET_EVENTS = frozenset({"message_start", "message_delta", "message_stop", "content_block_stop", "ping"})
_QUIET_DELTAS = frozenset({"input_json_delta", "signature_delta", "citations_delta"})


class ClaudeConverter:
    """The lines of one session, in order."""

    def __init__(self) -> None:
        self._streaming = False
        self._calls: set[str] = set()

    def line(self, raw: Mapping[str, Any], *, replay: bool = False) -> Output:
        """The updates for one line; with `replay` it is from a transcript, where nothing was streamed."""
        kind = raw.get("type")
        try:
            if kind == "stream_event":
                return self._stream_event(raw)
            if kind == "assistant":
                return self._assistant(raw, replay)
            if kind == "user":
                return self._user(raw, replay)
            if kind == "system":
                return _system(raw)
        except msgspec.ValidationError as error:
            return [Unparsed(f"stdout/{kind}", dict(raw), str(error))]
        if kind in _QUIET_TYPES or replay:
            return []
        if kind == "result":
            return stream_json.turn_usage(raw)
        if kind == "rate_limit_event":
            return [updates.meta_update(rateLimit=raw.get("rate_limit_info"))]
        return [Unparsed(f"stdout/{kind}", dict(raw))]

    def _stream_event(self, raw: Mapping[str, Any]) -> Output:
        event = msgspec.convert(raw, native.SDKPartialAssistantMessage).event
        kind = event.get("type")
        if kind == "content_block_start":
            block = msgspec.convert(event, native.BetaRawContentBlockStartEvent).content_block
            return self._block_start(block)
        if kind == "content_block_delta":
            return self._delta(msgspec.convert(event, native.BetaRawContentBlockDeltaEvent).delta)
        return [] if kind in _QUIET_EVENTS else [Unparsed(f"stream_event/{kind}", dict(raw))]

    def _block_start(self, block: Mapping[str, Any]) -> Output:
        if block.get("type") != "tool_use":
            return []
        call = msgspec.convert(block, native.BetaToolUseBlock)
        self._calls.add(call.id)
        return [stream_json.pending_tool_call(call.id, call.name)]

    def _delta(self, delta: Mapping[str, Any]) -> Output:
        kind = delta.get("type")
        if kind == "text_delta":
            self._streaming = True
            return [updates.message_chunk(msgspec.convert(delta, native.BetaTextDelta).text)]
        if kind == "thinking_delta":
            self._streaming = True
            return [updates.thought_chunk(msgspec.convert(delta, native.BetaThinkingDelta).thinking)]
        return [] if kind in _QUIET_DELTAS else [Unparsed(f"delta/{kind}", dict(delta))]

    def _assistant(self, raw: Mapping[str, Any], replay: bool) -> Output:
        message = msgspec.convert(raw, native.SDKAssistantMessage) if not replay else None
        blocks = (
            message.message.content
            if message
            else msgspec.convert(raw["message"], native.BetaMessage).content
        )
        parent = message.parent_tool_use_id if message else None
        # Text of the main conversation was already sent in chunks; that of subagents is not streamed.
        streamed = self._streaming and not parent
        self._streaming = False
        output: Output = []
        for block in blocks:
            kind = block.get("type")
            if kind == "text" and not streamed:
                output.append(updates.message_chunk(msgspec.convert(block, native.BetaTextBlock).text))
            elif kind == "thinking" and not streamed:
                output.append(
                    updates.thought_chunk(msgspec.convert(block, native.BetaThinkingBlock).thinking)
                )
            elif kind == "tool_use":
                output += self._tool_use(msgspec.convert(block, native.BetaToolUseBlock), parent)
            elif kind not in ("text", "thinking", "redacted_thinking"):
                output.append(Unparsed(f"assistant/{kind}", dict(block)))
        return output

    def _tool_use(self, call: native.BetaToolUseBlock, parent: str | None) -> Output:
        arguments = call.input if isinstance(call.input, dict) else {}
        started = call.id in self._calls
        self._calls.add(call.id)
        output: Output = [
            stream_json.tool_call(call.id, call.name, arguments, started=started, parent=parent)
        ]
        return output + (stream_json.todo_plan(arguments) if call.name == "TodoWrite" else [])

    def _user(self, raw: Mapping[str, Any], replay: bool) -> Output:
        content = msgspec.convert(
            msgspec.convert(raw, native.SDKUserMessage).message, native.UserMessageParam
        ).content
        if isinstance(content, str):
            return [updates.user_message_chunk(content)] if replay and not raw.get("isMeta") else []
        output: Output = []
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_result":
                result = msgspec.convert(block, native.ToolResultBlockParam)
                failed = bool(result.is_error)
                output.append(stream_json.tool_result(result.tool_use_id, result.content, failed=failed))
            elif block.get("type") == "text" and replay and not raw.get("isMeta"):
                output.append(updates.user_message_chunk(msgspec.convert(block, native.TextBlockParam).text))
        return output


def read_result(raw: Mapping[str, Any]) -> Result:
    """The end of a turn; raises `msgspec.ValidationError`."""
    if raw.get("subtype") == "success":
        return msgspec.convert(raw, native.SDKResultSuccess)
    return msgspec.convert(raw, native.SDKResultError)


def tool_uses(raw: Mapping[str, Any]) -> list[native.BetaToolUseBlock]:
    """The tool calls of a complete message; none if it cannot be read."""
    return _blocks(raw, "tool_use", native.BetaToolUseBlock)


def tool_results(raw: Mapping[str, Any]) -> list[native.ToolResultBlockParam]:
    """The tool results of a line; none if it cannot be read."""
    return _blocks(raw, "tool_result", native.ToolResultBlockParam)


def _blocks(raw: Mapping[str, Any], kind: str, type_: type[_Type]) -> list[_Type]:
    message = raw.get("message")
    content = message.get("content") if isinstance(message, dict) else None
    blocks = content if isinstance(content, list) else []
    try:
        return [msgspec.convert(b, type_) for b in blocks if isinstance(b, dict) and b.get("type") == kind]
    except msgspec.ValidationError:
        return []  # The converter sends the line as `Unparsed`.


def read_permission(raw: Mapping[str, Any]) -> native.SDKControlPermissionRequest:
    return msgspec.convert(raw, native.SDKControlPermissionRequest)


def _system(raw: Mapping[str, Any]) -> Output:
    subtype = raw.get("subtype")
    if subtype == "status":
        status = msgspec.convert(raw, native.SDKStatusMessage)
        return [updates.mode_update(status.permission_mode)] if status.permission_mode else []
    if subtype in ("informational", "notification", "api_retry", "compact_boundary", "local_command_output"):
        return [updates.meta_update(**{str(subtype): dict(raw)})]
    return [] if subtype in _QUIET_SUBTYPES else [Unparsed(f"system/{subtype}", dict(raw))]
