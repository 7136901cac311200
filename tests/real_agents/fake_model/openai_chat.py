"""The OpenAI Chat Completions API: `POST .../chat/completions`, streamed or plain."""

from __future__ import annotations

from collections.abc import Iterator
from time import time
from typing import Any
from uuid import uuid4

from .script import INPUT_TOKENS, OUTPUT_TOKENS, Message, Reply
from .sse import Frame
from .tools import Tool

_ROLES = {"tool": "result", "function": "result", "user": "user", "assistant": "assistant"}
_USAGE = {
    "prompt_tokens": INPUT_TOKENS,
    "completion_tokens": OUTPUT_TOKENS,
    "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
}


def read(body: dict[str, Any]) -> tuple[list[Message], list[Tool]]:
    messages = [
        Message(_ROLES[message["role"]], _text(message.get("content")))
        for message in body.get("messages", [])
        if message["role"] in _ROLES
    ]
    functions = [tool["function"] for tool in body.get("tools") or [] if "function" in tool]
    return messages, [Tool(function["name"], function.get("parameters") or {}) for function in functions]


def plain(body: dict[str, Any], reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.thought:
        message["reasoning_content"] = reply.thought
    if reply.call:
        function = {"name": reply.call.tool.name, "arguments": reply.call.json}
        message["tool_calls"] = [{"id": _call_id(), "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    return _head(body, "chat.completion") | {"choices": [choice], "usage": _USAGE}


def stream(body: dict[str, Any], reply: Reply) -> Iterator[Frame]:
    head = _head(body, "chat.completion.chunk")

    def chunk(delta: dict[str, Any], finish: str | None = None, pause_s: float = 0.0) -> Frame:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return Frame(head | {"choices": [choice]}, pause_s=pause_s)

    yield chunk({"role": "assistant", "content": ""})
    if reply.thought:
        yield chunk({"reasoning_content": reply.thought})
    for number, piece in enumerate(reply.pieces):
        yield chunk({"content": piece}, pause_s=reply.pause_s if number else 0.0)
    if reply.call:
        function = {"name": reply.call.tool.name, "arguments": ""}
        call = {"index": 0, "id": _call_id(), "type": "function", "function": function}
        yield chunk({"tool_calls": [call]})
        yield chunk({"tool_calls": [{"index": 0, "function": {"arguments": reply.call.json}}]})
    yield chunk({}, _finish(reply))
    yield Frame(head | {"choices": [], "usage": _USAGE})
    yield Frame("[DONE]")


def _head(body: dict[str, Any], kind: str) -> dict[str, Any]:
    model = body.get("model", "fake-model")
    return {"id": f"chatcmpl-{uuid4().hex}", "object": kind, "created": int(time()), "model": model}


def _finish(reply: Reply) -> str:
    return "tool_calls" if reply.call else "stop"


def _call_id() -> str:
    return f"call_{uuid4().hex[:20]}"


def _text(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return content or ""
