"""A snapshot of a session, and its settings on this client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_agent.sdk.session.channel.session_channel import SessionChannel
from sandbox_agent.sdk.session.config.session_config import SessionConfig
from sandbox_agent.sdk.session.history.restorer import Restored, RestorePolicy
from sandbox_agent.sdk.session.instances.instance_pool import InstanceKey
from sandbox_agent.sdk.universal import meta


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A snapshot of a session."""

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
    """The number of readers of the session's events."""
    ended: bool
    """The session has no agent process any more."""
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
    """The settings of a session on this client."""

    key: InstanceKey
    restore: RestorePolicy = "auto"
    replay_max_events: int = 50
    replay_max_chars: int = 12_000
    max_cost: float | None = None
    max_turns: int | None = None


def describe(
    channel: SessionChannel, config: SessionConfig, settings: SessionSettings, restored: Restored
) -> SessionInfo:
    """The session as it is now; values the agent does not report are those that were requested."""
    record = channel.record
    asked = meta.product_meta(record.session_init or {})
    return SessionInfo(
        session_id=record.id,
        agent=record.agent,
        agent_mode=config.current_mode or asked.get("agentMode"),
        permission_mode=None if "permission_mode" in restored.not_applied else asked.get("permissionMode"),
        model=config.current("model") or asked.get("model"),
        thought_level=config.current("thought_level"),
        event_count=channel.mapper.sequence,
        pending_questions=[one.id for one in channel.requests.questions],
        pending_permissions=[one.id for one in channel.requests.permissions],
        subscribers=channel.watchers,
        ended=record.destroyed_at is not None or not channel.live,
        native_session_id=channel.native_id or None,
        title=record.title,
        metadata=dict(record.metadata or {}),
        directory=settings.key.directory,
        created_at=record.created_at,
        destroyed_at=record.destroyed_at,
        server_id=record.server_id,
        restored=restored,
        busy=bool(channel.mapper.open_turn_ids),
    )
