"""MCP configuration entries, converted to the `mcpServers` of `session/new`.

ACP has no field for some parts of an entry. For a `local` server a launcher in the sandbox adds them; for a
`remote` one the conversion fails and names the field, so nothing is left out unnoticed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from importlib import resources
from posixpath import join
from typing import Any

from sandbox_agent.sdk.errors import McpConfigError
from sandbox_agent.sdk.session.config.mcp_checks import check_entry, is_remote
from sandbox_agent.sdk.universal import meta

Entries = Mapping[str, Mapping[str, Any]]


def mcp_servers(
    entries: Entries, directory: str = "", environment: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """The ACP `mcpServers` for named config entries; disabled entries are left out.

    Tokens and headers that name a variable are read from `environment` (default: that of this process). A
    relative `cwd` starts at `directory`. Raises `McpConfigError`.
    """
    known = os.environ if environment is None else environment
    for name, entry in entries.items():
        check_entry(name, entry)
    return [
        _remote(name, entry, known) if is_remote(entry) else _local(name, entry, directory)
        for name, entry in entries.items()
        if entry.get("enabled") is not False
    ]


def _local(name: str, entry: Mapping[str, Any], directory: str) -> dict[str, Any]:
    given = entry.get("command") or ""
    command = [given] if isinstance(given, str) else [str(part) for part in given]
    command += [str(argument) for argument in entry.get("args") or []]
    _refuse(
        name, entry, ("url", "headers", "bearerTokenEnvVar", "envHeaders", "oauth"), "is for remote servers"
    )
    limits = _limits(entry, directory)
    if limits:
        command = ["python3", "-c", _launcher(), json.dumps(limits), *command]
    environment = entry.get("env") or entry.get("environment") or {}
    server = {"name": name, "command": command[0], "args": command[1:], "env": _pairs(environment)}
    return meta.with_meta(server, **limits)


def _limits(entry: Mapping[str, Any], directory: str) -> dict[str, Any]:
    """The parts of a local entry that the launcher applies."""
    cwd = entry.get("cwd")
    if isinstance(cwd, str) and not cwd.startswith("~"):
        cwd = join(directory, cwd)
    limits = {"cwd": cwd, "timeoutMs": entry.get("timeoutMs", entry.get("timeout"))}
    return {key: value for key, value in limits.items() if value is not None}


def _launcher() -> str:
    return resources.files(__package__).joinpath("mcp_launcher.py").read_text(encoding="utf-8")


def _remote(name: str, entry: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    _refuse(name, entry, ("timeoutMs", "timeout"), "ACP has no time limit for a remote server")
    _refuse(name, entry, ("command", "args", "env", "environment", "cwd"), "is for local servers")
    _refuse(name, entry, ("oauth",), "ACP has no field for OAuth; the agent itself must log in")
    transport = "sse" if entry.get("type") == "sse" else entry.get("transport") or "http"
    headers = dict(entry.get("headers") or {})
    for field in ("envHeaders", "envHttpHeaders", "env_http_headers"):
        for header, variable in dict(entry.get(field) or {}).items():
            headers[header] = _variable(name, f"{field}.{header}", variable, known)
    for field in ("bearerTokenEnvVar", "bearer_token_env_var"):
        if entry.get(field):
            headers["Authorization"] = f"Bearer {_variable(name, field, entry[field], known)}"
    return {"type": transport, "name": name, "url": entry.get("url") or "", "headers": _pairs(headers)}


def _variable(name: str, field: str, variable: str, known: Mapping[str, str]) -> str:
    if variable not in known:
        raise McpConfigError(
            name,
            field,
            f"the variable {variable} is not available. The SDK reads its own environment, not that of the "
            "sandbox, and for an entry stored in a sandbox elsewhere none; give the value in `headers`",
        )
    return known[variable]


def _refuse(name: str, entry: Mapping[str, Any], fields: Iterable[str], reason: str) -> None:
    """Fail for a field that has a value; an empty one, and `false`, ask for nothing."""
    for field in fields:
        if entry.get(field) not in (None, False, [], {}, ""):
            raise McpConfigError(name, field, reason)


def _pairs(values: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"name": str(name), "value": str(value)} for name, value in values.items()]
