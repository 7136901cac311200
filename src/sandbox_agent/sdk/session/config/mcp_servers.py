"""MCP configuration entries, converted to the `mcpServers` of `session/new`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

Entries = Mapping[str, Mapping[str, Any]]


def mcp_servers(entries: Entries, environment: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """The ACP `mcpServers` for named config entries; disabled entries are left out.

    Tokens and headers that name a variable are read from `environment` (default: that of this process).
    """
    known = os.environ if environment is None else environment
    return [
        _remote(name, entry, known) if _is_remote(entry) else _local(name, entry)
        for name, entry in entries.items()
        if entry.get("enabled") is not False
    ]


def _is_remote(entry: Mapping[str, Any]) -> bool:
    return entry.get("type") in ("remote", "http", "sse") or ("url" in entry and "command" not in entry)


def _local(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    command = entry.get("command") or ""
    arguments = list(entry.get("args") or [])
    if not isinstance(command, str):
        command, arguments = (str(command[0]) if command else ""), [*command[1:], *arguments]
    environment = entry.get("env") or entry.get("environment") or {}
    server: dict[str, Any] = {"name": name, "command": command, "args": arguments, "env": _pairs(environment)}
    return _with_limits(server, entry)


def _remote(name: str, entry: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    transport = "sse" if entry.get("type") == "sse" else entry.get("transport") or "http"
    headers = dict(entry.get("headers") or {})
    named = entry.get("envHeaders") or entry.get("envHttpHeaders") or entry.get("env_http_headers") or {}
    for header, variable in named.items():
        if variable in known:
            headers[header] = known[variable]
    bearer = entry.get("bearerTokenEnvVar") or entry.get("bearer_token_env_var")
    if bearer and bearer in known:
        headers["Authorization"] = f"Bearer {known[bearer]}"
    server = {"type": transport, "name": name, "url": entry.get("url") or "", "headers": _pairs(headers)}
    return _with_limits(server, entry)


def _with_limits(server: dict[str, Any], entry: Mapping[str, Any]) -> dict[str, Any]:
    limit = entry.get("timeoutMs", entry.get("timeout"))
    meta = {"sandbox-agent/cwd": entry.get("cwd"), "sandbox-agent/timeoutMs": limit}
    given = {key: value for key, value in meta.items() if value is not None}
    return {**server, "_meta": given} if given else server


def _pairs(values: Mapping[str, Any]) -> list[dict[str, str]]:
    return [{"name": str(name), "value": str(value)} for name, value in values.items()]
