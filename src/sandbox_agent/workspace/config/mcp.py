"""MCP server entries: their types, and the parser that normalises what users write.

Older names are replaced by the current ones, `null` counts as absent, unknown fields are dropped, and an
error names the field. The server stores entries and returns them; it never acts on them.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.config.entry_decoder import json_object, to_entry, without_nulls

_TYPE_ALIASES = {"stdio": "local", "http": "remote", "sse": "remote"}
_FIELD_ALIASES = {
    "local": {"environment": "env", "timeout": "timeoutMs"},
    "remote": {
        "bearer_token_env_var": "bearerTokenEnvVar",
        "envHttpHeaders": "envHeaders",
        "env_http_headers": "envHeaders",
        "timeout": "timeoutMs",
    },
}

Milliseconds = Annotated[int, Meta(ge=0, le=(1 << 53) - 1, description="Time limit of the MCP server")]


class McpOauth(msgspec.Struct, rename="camel"):
    client_id: str | UnsetType = UNSET
    client_secret: str | UnsetType = UNSET
    scope: str | UnsetType = UNSET


class McpLocal(msgspec.Struct, rename="camel", kw_only=True, tag_field="type", tag="local"):
    """An MCP server started as a process that speaks on stdio."""

    command: str | list[str]
    args: list[str] = []
    env: dict[str, str] | UnsetType = UNSET
    cwd: str | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    timeout_ms: Milliseconds | UnsetType = UNSET


class McpRemote(msgspec.Struct, rename="camel", kw_only=True, tag_field="type", tag="remote"):
    """An MCP server reached over HTTP."""

    url: str
    headers: dict[str, str] | UnsetType = UNSET
    bearer_token_env_var: str | UnsetType = UNSET
    env_headers: dict[str, str] | UnsetType = UNSET
    oauth: McpOauth | bool | UnsetType = UNSET
    transport: Literal["http", "sse"] | UnsetType = UNSET
    enabled: bool | UnsetType = UNSET
    timeout_ms: Milliseconds | UnsetType = UNSET


class McpOlderNames(msgspec.Struct):
    """An entry with a type name of older versions; it is normalised when it is stored."""

    type: Literal["stdio", "http", "sse"]


class McpEntries(msgspec.Struct):
    """All entries of a directory; `invalid` maps those that cannot be decoded to the reason."""

    entries: dict[str, McpLocal | McpRemote]
    invalid: dict[str, str] | UnsetType = UNSET


def field_aliases() -> list[tuple[str, str]]:
    """Older field names with the current ones."""
    return sorted({pair for aliases in _FIELD_ALIASES.values() for pair in aliases.items()})


def parse(entry: bytes | msgspec.Raw) -> McpLocal | McpRemote:
    """One entry as it is stored and returned.

    Raises:
        InvalidRequest: not JSON, or a field that is wrong; the message names it.
    """
    fields = json_object(entry)
    given = fields.get("type")
    if not isinstance(given, str):
        raise InvalidRequest("type: must be 'local' or 'remote'")
    kind = _TYPE_ALIASES.get(given, given)
    if kind not in _FIELD_ALIASES:
        raise InvalidRequest(f"type: must be 'local' or 'remote', not '{given}'")
    fields["type"] = kind
    for alias, name in _FIELD_ALIASES[kind].items():
        if alias in fields:
            if name in fields:
                raise InvalidRequest(f"{name}: given twice, also as '{alias}'")
            fields[name] = fields.pop(alias)
    if given == "sse":
        if fields.get("transport", "sse") not in ("sse", None):
            raise InvalidRequest("transport: type 'sse' means transport 'sse'")
        fields["transport"] = "sse"
    if isinstance(fields.get("oauth"), dict):
        fields["oauth"] = without_nulls(fields["oauth"])
    return to_entry(fields, McpLocal) if kind == "local" else to_entry(fields, McpRemote)
