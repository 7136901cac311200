"""The keyword arguments of `sessions.create` and `sessions.resume`; unknown names are refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from sandbox_agent.sdk.option_values import check_values
from sandbox_agent.sdk.session.config.config_options import OptionValue
from sandbox_agent.sdk.session.permissions.callbacks import LiveOptions
from sandbox_agent.sdk.tools.tool import as_tools

_EXAMPLES = {
    "mcp": '{"files": {"type": "local", "command": "mcp-files"}}',
    "options": '{"fast": True}',
    "metadata": '{"ticket": 42}',
    "session_init": '{"mcpServers": []}',
}


class SessionOptions(LiveOptions, total=False):
    """The options of a new session."""

    id: str | None
    """The session id; a UUID if absent."""
    directory: str | PathLike[str] | None
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
    system_prompt: str | None
    """Text that the agent adds to its own system prompt."""
    allowed_tools: Sequence[str] | None
    """The built-in tools of the agent that the session has, by the agent's own names; it has no others."""
    isolated: bool
    """Give the session an agent process of its own."""
    session_init: Mapping[str, Any] | None
    """Parameters of `session/new` as ACP defines them; its `cwd` takes precedence over `directory`."""


def check_options(options: SessionOptions) -> None:
    """Raise `TypeError` for an option that does not exist, or is of another kind."""
    unknown = sorted(set(options) - set(SessionOptions.__annotations__))
    if unknown:
        known = ", ".join(sorted(SessionOptions.__annotations__))
        raise TypeError(f"a session has no option {', '.join(unknown)}; it has {known}")
    for name in ("mcp", "options", "metadata", "session_init"):
        value = options.get(name)
        if value is not None and not isinstance(value, Mapping):
            raise TypeError(f"{name} is a mapping by name, such as {_EXAMPLES[name]}, not {value!r}")
    allowed = options.get("allowed_tools")
    if isinstance(allowed, str) or (allowed is not None and not isinstance(allowed, Sequence)):
        raise TypeError(f"allowed_tools is a list of names, such as ['Read'], not {allowed!r}")
    if options.get("id") == "":
        raise ValueError("id is empty; without the option a session gets a random one")
    _check_common(options)
    check_values(options, SessionOptions)


def check_callbacks(options: LiveOptions) -> None:
    """Raise `TypeError` for an option that `resume` does not have."""
    unknown = sorted(set(options) - set(LiveOptions.__annotations__))
    if unknown:
        raise TypeError(f"resume() has no option {', '.join(unknown)}")
    _check_common(options)
    check_values(options, LiveOptions)


def _check_common(options: LiveOptions) -> None:
    as_tools(options.get("tools") or ())
    env = options.get("env")
    if env is not None and not (isinstance(env, Mapping) and all(isinstance(v, str) for v in env.values())):
        raise TypeError("env is a mapping from names of variables to texts")
    for name, value in (("max_cost", options.get("max_cost")), ("max_turns", options.get("max_turns"))):
        if value is not None and (
            isinstance(value, bool) or not isinstance(value, int | float) or value <= 0
        ):
            raise TypeError(f"{name} is a number greater than 0, not {value!r}")
