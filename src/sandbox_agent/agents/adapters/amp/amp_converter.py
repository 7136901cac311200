"""Amp: lines of `--stream-json` and exported threads -> ACP updates. Pure functions, no I/O.

Amp sends complete messages only, so no state is kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from sandbox_agent.agents.adapters.amp import schema as native
from sandbox_agent.agents.adapters.common import stream_json, updates
from sandbox_agent.agents.adapters.common.updates import Output, Unparsed


def convert(raw: Mapping[str, Any]) -> Output:
    """The updates for a line; `Unparsed` for an unknown or malformed one."""
    kind = raw.get("type")
    try:
        if kind == "assistant":
            message = msgspec.convert(raw, native.AssistantMessage)
            return _assistant(message.message.get("content"), message.parent_tool_use_id)
        if kind == "user":
            return _results(msgspec.convert(raw, native.UserMessage).message.get("content"))
    except msgspec.ValidationError as error:
        return [Unparsed(f"stdout/{kind}", dict(raw), str(error))]
    if kind == "result":
        return stream_json.turn_usage(raw)
    return [] if kind == "system" else [Unparsed(f"stdout/{kind}", dict(raw))]


def exported(message: Mapping[str, Any]) -> Output:
    """The updates for a message of `amp threads export`, including user messages."""
    content = message.get("content")
    if message.get("role") == "assistant":
        return _assistant(content, None)
    output: Output = []
    for block in content if isinstance(content, list) else []:
        if block.get("type") == "text":
            output.append(updates.user_message_chunk(msgspec.convert(block, native.TextContent).text))
        elif block.get("type") == "tool_result":
            run = block.get("run") or {}
            failed = run.get("status") in ("error", "rejected-by-user", "cancelled")
            output.append(_result(str(block.get("toolUseID")), run.get("result"), failed=failed))
    return output


def read_failure(raw: Mapping[str, Any]) -> native.ErrorResultMessage | None:
    """The error of a failed turn, None if it succeeded; raises `msgspec.ValidationError`."""
    return msgspec.convert(raw, native.ErrorResultMessage) if raw.get("is_error") else None


def _assistant(content: Any, parent: str | None) -> Output:
    output: Output = []
    for block in content if isinstance(content, list) else []:
        kind = block.get("type")
        if kind == "text":
            output.append(updates.message_chunk(msgspec.convert(block, native.TextContent).text))
        elif kind == "thinking":
            output.append(updates.thought_chunk(str(block.get("thinking") or "")))
        elif kind == "tool_use":
            call = msgspec.convert(block, native.ToolUseContent)
            output.append(stream_json.tool_call(call.id, call.name, call.input or {}, parent=parent))
        elif kind != "redacted_thinking":
            output.append(Unparsed(f"assistant/{kind}", dict(block)))
    return output


def _results(content: Any) -> Output:
    blocks = [
        block for block in content or [] if isinstance(block, dict) and block.get("type") == "tool_result"
    ]
    results = msgspec.convert(blocks, list[native.ToolResultContent])
    return [_result(result.tool_use_id, result.content, failed=result.is_error) for result in results]


def _result(call_id: str, content: Any, *, failed: bool) -> updates.Update:
    """Some results are JSON: output and exit code of a command, the content of a file and its path."""
    facts = content
    if isinstance(content, str) and content.startswith("{"):
        with suppress(msgspec.DecodeError):
            facts = msgspec.json.decode(content)
    if isinstance(facts, dict):
        text = next((facts[key] for key in ("output", "content") if isinstance(facts.get(key), str)), None)
        if text is not None:
            failed = failed or facts.get("exitCode") not in (None, 0)
            return stream_json.tool_result(call_id, text, failed=failed, raw=facts)
    return stream_json.tool_result(call_id, content, failed=failed)
