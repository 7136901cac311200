"""The keyword arguments of `sessions.create` and `sessions.resume`; unknown names are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from sandbox_agent.sdk.session.config.config_options import OptionValue
from sandbox_agent.sdk.session.permissions.permission_request import OnPermission
from sandbox_agent.sdk.session.permissions.question import OnQuestion


class CallbackOptions(TypedDict, total=False):
    """The callbacks that answer the agent; absent ones are those of the client."""

    on_permission: OnPermission | None
    on_question: OnQuestion | None
    permission_timeout: float | None


class SessionOptions(CallbackOptions, total=False):
    """The options of a new session."""

    id: str | None
    """The session id; a UUID if absent."""
    directory: str | None
    """The working directory of the agent; relative to the client's default directory."""
    agent_version: str | None
    mcp: Mapping[str, Mapping[str, Any]] | None
    """MCP servers by name, in the form of `client.config.mcp`."""
    use_directory_config: bool
    """Also give the agent the MCP servers and skills configured for the directory."""
    mode: str | None
    model: str | None
    thought_level: str | None
    permission_mode: str | None
    options: Mapping[str, OptionValue] | None
    """Other config options of the agent, by id."""
    skills: Mapping[str, Any] | None
    """Skills for the agent, in the form of `client.config.skills`: `{"sources": [...]}`."""
    title: str | None
    metadata: Mapping[str, Any] | None
    """The caller's own labels; they stay in the store."""
    isolated: bool
    """Give the session an agent process of its own."""
    session_init: Mapping[str, Any] | None
    """Parameters of `session/new` as ACP defines them; its `cwd` takes precedence over `directory`."""


def check_options(options: SessionOptions) -> None:
    """Raise `TypeError` for an option that does not exist."""
    unknown = sorted(set(options) - set(SessionOptions.__annotations__))
    if unknown:
        known = ", ".join(sorted(SessionOptions.__annotations__))
        raise TypeError(f"a session has no option {', '.join(unknown)}; it has {known}")


def check_callbacks(options: CallbackOptions) -> None:
    """Raise `TypeError` for an option that `resume` does not have."""
    unknown = sorted(set(options) - set(CallbackOptions.__annotations__))
    if unknown:
        raise TypeError(f"resume() has no option {', '.join(unknown)}")
