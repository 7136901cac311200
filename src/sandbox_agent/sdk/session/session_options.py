"""The keyword arguments of `sessions.create` and `sessions.resume`; a name that is none is refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, cast

from sandbox_agent.sdk.session.callbacks import OnPermission, OnQuestion
from sandbox_agent.sdk.session.config.config_options import OptionValue


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
    session_init: Mapping[str, Any] | None
    """Parameters of `session/new` as ACP has them; its `cwd` comes before `directory`."""
    cwd: str | None
    """Another name of `directory`."""
    agent_mode: str | None
    """Another name of `mode`."""


SYNONYMS = {"cwd": "directory", "agent_mode": "mode"}


def checked_options(options: SessionOptions) -> SessionOptions:
    """The options by their first names; raises `TypeError` for a name that is none."""
    unknown = sorted(set(options) - set(SessionOptions.__annotations__))
    if unknown:
        known = ", ".join(sorted(SessionOptions.__annotations__))
        raise TypeError(f"a session has no option {', '.join(unknown)}; it has {known}")
    named: dict[str, Any] = dict(options)
    for synonym, name in SYNONYMS.items():
        if synonym in named:
            value = named.pop(synonym)
            if named.setdefault(name, value) != value:
                raise TypeError(f"{synonym} and {name} are two names of one option")
    return cast(SessionOptions, named)


def checked_callbacks(options: CallbackOptions) -> CallbackOptions:
    """The callbacks; raises `TypeError` for a name that is none."""
    unknown = sorted(set(options) - set(CallbackOptions.__annotations__))
    if unknown:
        raise TypeError(f"a session is not resumed with {', '.join(unknown)}")
    return options
