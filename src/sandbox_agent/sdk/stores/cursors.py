"""Cursors: the end of a page, as opaque text for the caller.

A cursor names the last row of the page instead of a number of rows, so pages neither repeat nor skip rows
when sessions or events are added between two calls.
"""

from __future__ import annotations


def check_limit(limit: int) -> int:
    """`limit`, if it is at least 1."""
    if limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}")
    return limit


def session_cursor(created_at: int, session_id: str) -> str:
    """The cursor after this session."""
    return f"{created_at}:{session_id}"


def read_session_cursor(cursor: str) -> tuple[int, str]:
    """The creation time and id a session cursor names."""
    created_at, colon, session_id = cursor.partition(":")
    if not colon or not _is_integer(created_at):
        raise ValueError(f"not a cursor of list_sessions: {cursor!r}")
    return int(created_at), session_id


def read_event_cursor(cursor: str) -> int:
    """The event index an event cursor names."""
    if not _is_integer(cursor):
        raise ValueError(f"not a cursor of list_events: {cursor!r}")
    return int(cursor)


def _is_integer(text: str) -> bool:
    return text.removeprefix("-").isascii() and text.removeprefix("-").isdigit()
