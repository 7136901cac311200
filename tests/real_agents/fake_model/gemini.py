"""The Gemini API: `POST .../models/{model}:generateContent` and `:streamGenerateContent`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from .script import INPUT_TOKENS, OUTPUT_TOKENS, Message, Reply
from .sse import Frame
from .tools import Tool, fill

_USAGE = {
    "promptTokenCount": INPUT_TOKENS,
    "candidatesTokenCount": OUTPUT_TOKENS,
    "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
}


def read(body: dict[str, Any]) -> tuple[list[Message], list[Tool]]:
    messages: list[Message] = []
    for content in body.get("contents", []):
        parts = content.get("parts", [])
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        if results:
            messages += [Message("result", json.dumps(result.get("response", {}))) for result in results]
        else:
            role = "assistant" if content.get("role") == "model" else "user"
            messages.append(Message(role, "\n".join(part.get("text", "") for part in parts)))
    declared = [
        declaration
        for tool in body.get("tools") or []
        for declaration in tool.get("functionDeclarations", [])
    ]
    tools = [
        Tool(tool["name"], tool.get("parametersJsonSchema") or tool.get("parameters") or {})
        for tool in declared
    ]
    return messages, tools


def plain(body: dict[str, Any], reply: Reply) -> dict[str, Any]:
    config = body.get("generationConfig", {})
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    if schema:
        reply = Reply(pieces=[json.dumps(fill(_lower_types(schema), {}))])
    return _chunk(body, _parts(reply), "STOP")


def stream(body: dict[str, Any], reply: Reply) -> Iterator[Frame]:
    parts = _parts(reply)
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        yield Frame(_chunk(body, [part], "STOP" if last else None), pause_s=reply.pause_s if number else 0.0)


def _parts(reply: Reply) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if reply.thought:
        parts.append({"text": reply.thought, "thought": True})
    parts += [{"text": piece} for piece in reply.pieces]
    if reply.call:
        call = {"id": uuid4().hex[:12], "name": reply.call.tool.name, "args": reply.call.arguments}
        parts.append({"functionCall": call, "thoughtSignature": "c2lnbmVk"})
    return parts or [{"text": ""}]


def _chunk(body: dict[str, Any], parts: list[dict[str, Any]], finish: str | None) -> dict[str, Any]:
    candidate: dict[str, Any] = {"index": 0, "content": {"role": "model", "parts": parts}}
    if finish:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": _USAGE,
        "modelVersion": "fake-model",
        "responseId": uuid4().hex,
    }


def _lower_types(schema: Any) -> Any:
    """Gemini's own schemas write types in capitals."""
    if isinstance(schema, dict):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) else _lower_types(value)
            for key, value in schema.items()
        }
    return [_lower_types(item) for item in schema] if isinstance(schema, list) else schema
