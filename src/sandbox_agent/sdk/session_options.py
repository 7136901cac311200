"""The keyword arguments of `sessions.create` and `sessions.resume`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict

from .human import OnPermission, OnQuestion
from .options import OptionValue


class CallbackOptions(TypedDict, total=False):
    """Who answers the agent; what is left out comes from the client."""

    on_permission: OnPermission | None
    on_question: OnQuestion | None
    permission_timeout: float | None


class SessionOptions(CallbackOptions, total=False):
    """What a new session may be given."""

    id: str | None
    """An id of your own; a UUID otherwise."""
    directory: str | None
    """Where the agent works; relative to the client's default directory."""
    agent_version: str | None
    mcp: Mapping[str, Mapping[str, Any]] | None
    """MCP servers by name, in the form of `client.config.mcp`."""
    use_directory_config: bool
    """Also give the agent the MCP servers configured for the directory."""
    mode: str | None
    model: str | None
    thought_level: str | None
    permission_mode: str | None
    options: Mapping[str, OptionValue] | None
    """Any other config options of the agent, by id."""
    skills: Any
    title: str | None
    metadata: Mapping[str, Any] | None
    """Labels of your own; they stay in the store."""
    isolated: bool
    """Give the session an agent process of its own."""
