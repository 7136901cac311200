"""Checks of MCP configuration entries: a mistake is named before it reaches an agent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.errors import McpConfigError

LOCAL_TYPES = ("local", "stdio")
REMOTE_TYPES = ("remote", "http", "sse")
_FIELDS = frozenset(
    "type enabled command args env environment cwd timeoutMs timeout url transport headers oauth "
    "bearerTokenEnvVar bearer_token_env_var envHeaders envHttpHeaders env_http_headers".split()
)


def is_remote(entry: Mapping[str, Any]) -> bool:
    """Whether the entry names a server by its URL."""
    return entry.get("type") in REMOTE_TYPES or ("url" in entry and "command" not in entry)


def check_entry(name: str, entry: object) -> None:
    """Raise `McpConfigError` for an entry that no agent could use."""
    if not isinstance(entry, Mapping):
        raise McpConfigError(name, "entry", f"an entry is a mapping with `type`, not {entry!r}")
    for field in entry:
        if field not in _FIELDS:
            raise McpConfigError(name, str(field), f"is none of the fields {', '.join(sorted(_FIELDS))}")
    kind = entry.get("type")
    if kind not in (None, *LOCAL_TYPES, *REMOTE_TYPES):
        raise McpConfigError(name, "type", f"{kind!r} is none of {', '.join((*LOCAL_TYPES, *REMOTE_TYPES))}")
    if is_remote(entry):
        url = entry.get("url")
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise McpConfigError(name, "url", f"a remote server needs an http(s):// URL, not {url!r}")
    else:
        _check_command(name, entry)
    for field in ("env", "environment", "headers"):
        if entry.get(field) and not isinstance(entry[field], Mapping):
            raise McpConfigError(name, field, f"is a mapping from names to values, not {entry[field]!r}")


def _check_command(name: str, entry: Mapping[str, Any]) -> None:
    command, arguments = entry.get("command"), entry.get("args") or []
    if not command or not (isinstance(command, str) or _texts(command)):
        raise McpConfigError(name, "command", f"a local server needs a command, not {command!r}")
    if not _texts(arguments):
        raise McpConfigError(name, "args", f"is a list of texts, not {arguments!r}")


def _texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(one, str) for one in value)
