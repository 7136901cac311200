"""The Anthropic Messages API: `POST .../v1/messages`, streamed or plain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

from .script import INPUT_TOKENS, OUTPUT_TOKENS, Message, Reply
from .sse import Frame
from .tools import Tool

_USAGE = {
    "input_tokens": INPUT_TOKENS,
    "output_tokens": OUTPUT_TOKENS,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
}


def read(body: dict[str, Any]) -> tuple[list[Message], list[Tool]]:
    messages: list[Message] = []
    for message in body.get("messages", []):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        results = [block for block in blocks if block.get("type") == "tool_result"]
        if results:
            # Text beside a result is a reminder of the agent, not a prompt.
            messages += [Message("result", _text(block.get("content", ""))) for block in results]
            extra = "\n".join(_text([block]) for block in blocks if block not in results)
            if "[[" in extra:
                messages.append(Message("user", extra))
        else:
            messages.append(Message(message["role"], _text(blocks)))
    tools = [Tool(tool["name"], tool.get("input_schema", {})) for tool in body.get("tools") or []]
    return messages, tools


def plain(body: dict[str, Any], reply: Reply) -> dict[str, Any]:
    return _message(body, [block for block, _ in _blocks(reply)], _stop_reason(reply))


def stream(body: dict[str, Any], reply: Reply) -> Iterator[Frame]:
    def frame(kind: str, pause_s: float = 0.0, **fields: Any) -> Frame:
        return Frame({"type": kind, **fields}, kind, pause_s)

    yield frame("message_start", message=_message(body, [], None))
    yield frame("ping")
    for index, (block, deltas) in enumerate(_blocks(reply)):
        empty = {
            "thinking": {"thinking": "", "signature": ""},
            "text": {"text": ""},
            "tool_use": {"input": {}},
        }
        yield frame("content_block_start", index=index, content_block=block | empty[block["type"]])
        for number, delta in enumerate(deltas):
            pause = reply.pause_s if number and block["type"] == "text" else 0.0
            yield frame("content_block_delta", pause, index=index, delta=delta)
        yield frame("content_block_stop", index=index)
    yield frame(
        "message_delta", delta={"stop_reason": _stop_reason(reply), "stop_sequence": None}, usage=_USAGE
    )
    yield frame("message_stop")


def _blocks(reply: Reply) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Each block whole, and the deltas it is streamed as."""
    if reply.thought:
        deltas = [{"type": "thinking_delta", "thinking": reply.thought}]
        signature = {"type": "signature_delta", "signature": "c2lnbmVk"}
        yield (
            {"type": "thinking", "thinking": reply.thought, "signature": "c2lnbmVk"},
            [*deltas, signature],
        )
    if reply.pieces:
        deltas = [{"type": "text_delta", "text": piece} for piece in reply.pieces]
        yield {"type": "text", "text": reply.text}, deltas
    if reply.call:
        block = {
            "type": "tool_use",
            "id": f"toolu_{uuid4().hex[:20]}",
            "name": reply.call.tool.name,
            "input": reply.call.arguments,
        }
        yield block, [{"type": "input_json_delta", "partial_json": reply.call.json}]


def _message(body: dict[str, Any], content: list[dict[str, Any]], stop: str | None) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "fake-model"),
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _stop_reason(reply: Reply) -> str:
    return "tool_use" if reply.call else "end_turn"


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content if isinstance(block, dict))
