"""The ACP messages of a session as JSON lines, with the time and the sender of each: what is replayed."""

from __future__ import annotations

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.stores import SessionStore

_PAGE = 1000


async def message_lines(store: SessionStore, session_id: str) -> bytes:
    """Lines `{"createdAt": ms, "sender": "client" | "agent", "payload": {...}}`, in order."""
    lines: list[bytes] = []
    cursor: str | None = None
    while True:
        page = await store.list_events(session_id, cursor=cursor, limit=_PAGE)
        for event in page.items:
            line = {"createdAt": event.created_at, "sender": event.sender, "payload": event.payload}
            lines.append(json_codec.encode(line) + b"\n")
        cursor = page.next_cursor
        if cursor is None:
            return b"".join(lines)
