"""The header `Acp-Session-Id`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_SESSION_ID_CHARACTERS = 1024


def read_session_id(headers: Mapping[bytes, bytes]) -> str:
    """The session that a request names; empty if it names none. Raises InvalidRequest."""
    raw = headers.get(b"acp-session-id", b"")
    try:
        session = raw.decode()
    except UnicodeDecodeError:
        session = raw.decode("latin-1")
    if len(session) > MAX_SESSION_ID_CHARACTERS:
        raise InvalidRequest(f"Acp-Session-Id may have {MAX_SESSION_ID_CHARACTERS} characters at most")
    return session
