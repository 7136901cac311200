"""The bodies of `session/update`, one function per kind: plain data, no side effects."""

from __future__ import annotations

import os
from collections.abc import Iterator

from sandbox_agent.agents.mock.jsonrpc_lines import Json


def new_uuid() -> str:
    """A random UUID (version 4); importing the uuid module would add 4 ms to the start."""
    raw = bytearray(os.urandom(16))
    raw[6] = raw[6] & 0x0F | 0x40
    raw[8] = raw[8] & 0x3F | 0x80
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_tool_call_id() -> str:
    return "call_" + os.urandom(8).hex()


def legacy_event(session_id: str, sequence: int | None = None) -> Json:
    """The envelope of a universal event, as an agent that has such events puts it into `_meta`."""
    envelope: Json = {"eventId": f"evt_{os.urandom(8).hex()}", "source": "agent", "synthetic": False}
    if sequence is not None:
        envelope["sequence"] = sequence
    return {"legacyEvent": {**envelope, "nativeSessionId": session_id}}


def product_meta(**keys: object) -> Json:
    """`_meta` with these keys in the product's namespace."""
    return {"sandboxagent.dev": keys}


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def message_chunk(content: Json, message_id: str) -> Json:
    return {"sessionUpdate": "agent_message_chunk", "messageId": message_id, "content": content}


def message(text: str) -> Json:
    """A whole message in one chunk."""
    return message_chunk(text_block(text), new_uuid())


def message_in_chunks(text: str, size: int) -> Iterator[Json]:
    """One message in chunks of `size` characters."""
    message_id = new_uuid()
    for start in range(0, len(text), size):
        yield message_chunk(text_block(text[start : start + size]), message_id)


def thought(text: str) -> Json:
    return {"sessionUpdate": "agent_thought_chunk", "content": text_block(text)}


def user_message(content: Json) -> Json:
    return {"sessionUpdate": "user_message_chunk", "content": content}


def plan(*entries: tuple[str, str, str]) -> Json:
    """Entries are (content, priority, status)."""
    return {
        "sessionUpdate": "plan",
        "entries": [{"content": text, "priority": rank, "status": status} for text, rank, status in entries],
    }


def tool_call(call_id: str, tool: str, title: str, kind: str, **more: object) -> Json:
    """A new tool call. The tool's own name is in `_meta`, as real agents send it."""
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": call_id,
        "title": title,
        "kind": kind,
        "status": "pending",
        "_meta": {"toolName": tool},
        **more,
    }


def tool_update(call_id: str, status: str, **more: object) -> Json:
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": status, **more}


def tool_text(text: str) -> Json:
    """Text as content of a tool call."""
    return {"type": "content", "content": text_block(text)}


def diff(path: str, old_text: str | None, new_text: str) -> Json:
    """A file change as content of a tool call; without an old text the file is new."""
    return {"type": "diff", "path": path, "oldText": old_text, "newText": new_text}


def session_info(title: str, updated_at: str) -> Json:
    return {"sessionUpdate": "session_info_update", "title": title, "updatedAt": updated_at}
