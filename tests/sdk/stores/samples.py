"""Records with sensible values, so that a test names only what it is about."""

from __future__ import annotations

from sandbox_agent.sdk.stores import EventRecord, SessionRecord


def a_session(session_id: str = "s1", **fields: object) -> SessionRecord:
    defaults = {"agent": "mock", "agent_session_id": "n1", "last_connection_id": "c1", "created_at": 1000}
    return SessionRecord(id=session_id, **{**defaults, **fields})  # type: ignore[arg-type]


def an_event(n: int = 1, session_id: str = "s1", **fields: object) -> EventRecord:
    payload = {"jsonrpc": "2.0", "method": "session/update", "params": {"n": n}}
    defaults = {"sender": "agent", "payload": payload, "created_at": n, "connection_id": "c1"}
    return EventRecord(session_id=session_id, **{**defaults, **fields})  # type: ignore[arg-type]
