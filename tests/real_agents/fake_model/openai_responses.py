"""The OpenAI Responses API: `POST .../responses`, streamed or plain."""

from __future__ import annotations

from collections.abc import Iterator
from time import time
from typing import Any
from uuid import uuid4

from .script import INPUT_TOKENS, OUTPUT_TOKENS, Message, Reply
from .sse import Frame
from .tools import Tool

_USAGE = {
    "input_tokens": INPUT_TOKENS,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": OUTPUT_TOKENS,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}


def read(body: dict[str, Any]) -> tuple[list[Message], list[Tool]]:
    given = body.get("input", [])
    items = [{"type": "message", "role": "user", "content": given}] if isinstance(given, str) else given
    messages: list[Message] = []
    for item in items:
        kind = item.get("type", "message")
        if kind == "message" and item.get("role") in ("user", "assistant"):
            messages.append(Message(item["role"], _text(item.get("content"))))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            messages.append(Message("result", _text(item.get("output"))))
        elif kind in ("function_call", "custom_tool_call"):
            messages.append(Message("assistant", ""))
    return messages, list(_tools(body.get("tools") or []))


def _tools(tools: list[dict[str, Any]], namespace: str | None = None) -> Iterator[Tool]:
    for tool in tools:
        if tool.get("type") == "namespace":
            yield from _tools(tool.get("tools", []), tool["name"])
        elif tool.get("type") in ("function", "custom"):
            schema = tool.get("parameters") or {}
            yield Tool(tool["name"], schema, namespace, tool["type"] == "custom")


def plain(body: dict[str, Any], reply: Reply) -> dict[str, Any]:
    return _response(body, "completed", [item for item, _ in _items(reply)])


def stream(body: dict[str, Any], reply: Reply) -> Iterator[Frame]:
    for number, (kind, fields, pause) in enumerate(_events(body, reply)):
        yield Frame({"type": kind, "sequence_number": number, **fields}, kind, pause)


def _events(body: dict[str, Any], reply: Reply) -> Iterator[tuple[str, dict[str, Any], float]]:
    yield "response.created", {"response": _response(body, "in_progress", [])}, 0.0
    yield "response.in_progress", {"response": _response(body, "in_progress", [])}, 0.0
    output = []
    for index, (item, events) in enumerate(_items(reply)):
        output.append(item)
        where = {"output_index": index, "item_id": item["id"]}
        empty = {key: [] if isinstance(item[key], list) else item[key] for key in item}
        yield "response.output_item.added", {"output_index": index, "item": empty}, 0.0
        for kind, fields, pause in events:
            yield f"response.{kind}", where | fields, pause
        yield "response.output_item.done", {"output_index": index, "item": item}, 0.0
    yield "response.completed", {"response": _response(body, "completed", output)}, 0.0


_Events = list[tuple[str, dict[str, Any], float]]


def _items(reply: Reply) -> Iterator[tuple[dict[str, Any], _Events]]:
    """Each output item whole, and the events it is streamed as."""
    if reply.thought:
        yield _reasoning(reply.thought)
    if reply.pieces:
        yield _message(reply)
    if reply.call:
        yield _call(reply)


def _reasoning(thought: str) -> tuple[dict[str, Any], _Events]:
    part = {"type": "summary_text", "text": thought}
    item = {"type": "reasoning", "id": _new_id("rs"), "summary": [part]}
    at = {"summary_index": 0}
    return item, [
        ("reasoning_summary_part.added", at | {"part": part | {"text": ""}}, 0.0),
        ("reasoning_summary_text.delta", at | {"delta": thought}, 0.0),
        ("reasoning_summary_text.done", at | {"text": thought}, 0.0),
        ("reasoning_summary_part.done", at | {"part": part}, 0.0),
    ]


def _message(reply: Reply) -> tuple[dict[str, Any], _Events]:
    part = {"type": "output_text", "text": reply.text, "annotations": []}
    item = {
        "type": "message",
        "id": _new_id("msg"),
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }
    at = {"content_index": 0}
    deltas = [
        ("output_text.delta", at | {"delta": piece}, reply.pause_s if number else 0.0)
        for number, piece in enumerate(reply.pieces)
    ]
    return item, [
        ("content_part.added", at | {"part": part | {"text": ""}}, 0.0),
        *deltas,
        ("output_text.done", at | {"text": reply.text}, 0.0),
        ("content_part.done", at | {"part": part}, 0.0),
    ]


def _call(reply: Reply) -> tuple[dict[str, Any], _Events]:
    call = reply.call
    assert call is not None
    item = {"id": _new_id("fc"), "call_id": _new_id("call"), "name": call.tool.name, "status": "completed"}
    if call.tool.is_custom:
        text = str(call.arguments.get("input", ""))
        return item | {"type": "custom_tool_call", "input": text}, [
            ("custom_tool_call_input.done", {"input": text}, 0.0)
        ]
    item |= {"type": "function_call", "arguments": call.json}
    if call.tool.namespace:
        item["namespace"] = call.tool.namespace
    return item, [
        ("function_call_arguments.delta", {"delta": call.json}, 0.0),
        ("function_call_arguments.done", {"arguments": call.json}, 0.0),
    ]


def _response(body: dict[str, Any], status: str, output: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": _new_id("resp"),
        "object": "response",
        "created_at": int(time()),
        "status": status,
        "model": body.get("model", "fake-model"),
        "output": output,
        "usage": _USAGE if status == "completed" else None,
    }


def _new_id(prefix: str) -> str:
    return f"{prefix}_{uuid4().hex[:20]}"


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""
