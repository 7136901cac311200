"""What can be known about a session at one moment, and how it behaves on this client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .hub import InstanceKey
from .restore import Restored, RestorePolicy


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """Everything there is to know about a session at one moment."""

    session_id: str
    agent: str
    agent_mode: str | None
    permission_mode: str | None
    model: str | None
    thought_level: str | None
    event_count: int
    """Universal events so far; `session.events()` gives them."""
    pending_questions: list[str]
    pending_permissions: list[str]
    subscribers: int
    """Who reads the session's events at the moment."""
    ended: bool
    """No agent process stands behind the session any more."""
    native_session_id: str | None
    title: str | None
    metadata: Mapping[str, Any]
    directory: str | None
    created_at: int
    destroyed_at: int | None
    server_id: str | None
    restored: Restored
    busy: bool
    """A turn is running."""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """How a session behaves on this client."""

    key: InstanceKey
    restore: RestorePolicy = "auto"
    replay_max_events: int = 50
    replay_max_chars: int = 12_000
