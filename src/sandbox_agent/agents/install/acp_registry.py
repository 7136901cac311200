"""The ACP registry: a public JSON document of agents and how each is distributed.

Only asked for agents without a pin, or when a version is wanted that is not the pinned one. A registry that
does not answer within seconds is an error of its own, so callers can go on with what they know.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox_agent.agents.layout import registry_platform

DEFAULT_URL = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"
_CONNECT_LIMIT_S = 3
_DOCUMENT_LIMIT_S = 15
_DOCUMENT_BYTES = 16 * 1024 * 1024


class RegistryUnavailable(Exception):
    """The registry cannot be reached or is not a registry; the text says which."""


@dataclass(frozen=True, slots=True)
class Package:
    """An agent that comes as a package."""

    source: str
    """`npm` or `pypi`."""
    package: str
    version: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Archive:
    """An agent that comes as an archive, or a single program, for this machine."""

    archive: str
    command: str
    """The program in it."""
    version: str
    sha256: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


async def look_up(url: str, ids: Sequence[str], version: str | None = None) -> Archive | Package | None:
    """How the registry distributes the first of `ids` it has, on this machine, in `version` if given.

    None if it has no such agent; raises `RegistryUnavailable`.
    """
    document = await asyncio.to_thread(_fetch, url)
    agents = document.get("agents")
    if not isinstance(agents, list):
        raise RegistryUnavailable(f"{url} is not an ACP registry: it has no list of agents")
    by_id = {entry.get("id"): entry for entry in agents if isinstance(entry, dict)}
    for agent_id in ids:
        for entry in _editions(by_id.get(agent_id)):
            if version in (None, "latest", entry.get("version")) and (found := _distribution(entry)):
                return found
    return None


def _editions(entry: Any) -> list[dict[str, Any]]:
    """The entry itself and its preview, which has a version and a distribution of its own."""
    if not isinstance(entry, dict):
        return []
    preview = entry.get("preview")
    return [entry, preview] if isinstance(preview, dict) else [entry]


def _distribution(entry: Mapping[str, Any]) -> Archive | Package | None:
    ways, version = entry.get("distribution"), str(entry.get("version", ""))
    if not isinstance(ways, dict):
        return None
    for kind, source in (("npx", "npm"), ("uvx", "pypi")):
        way = ways.get(kind)
        if isinstance(way, dict) and isinstance(way.get("package"), str):
            package = _pypi_name(way["package"]) if source == "pypi" else way["package"]
            return Package(source, package, version, _args(way), _env(way))
    archives = ways.get("binary")
    way = archives.get(registry_platform()) if isinstance(archives, dict) else None
    if isinstance(way, dict) and isinstance(way.get("archive"), str) and isinstance(way.get("cmd"), str):
        return Archive(way["archive"], way["cmd"], version, way.get("sha256"), _args(way), _env(way))
    return None


def _args(way: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(argument) for argument in way.get("args") or ())


def _env(way: Mapping[str, Any]) -> dict[str, str]:
    """Its variables; names that no shell could export are left out."""
    variables = way.get("env") or {}
    return {str(k): str(v) for k, v in variables.items() if re.fullmatch(r"[A-Za-z_]\w*", str(k))}


def _pypi_name(package: str) -> str:
    """uvx writes versions as `name@1.2` or `name==1.2`; pip knows only the second."""
    return re.sub(r"(?<=\w)@(?=\d)", "==", package)


def _fetch(url: str) -> dict[str, Any]:
    # Imported here: it brings TLS along, which a server that asks no registry does not need.
    import httpx

    limits = httpx.Timeout(_DOCUMENT_LIMIT_S, connect=_CONNECT_LIMIT_S)
    try:
        with httpx.stream("GET", url, timeout=limits, follow_redirects=True) as response:
            response.raise_for_status()
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _DOCUMENT_BYTES:
                    raise RegistryUnavailable(f"{url} is too large to be an ACP registry")
        document = json.loads(body)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise RegistryUnavailable(f"the ACP registry {url} cannot be reached: {error}") from error
    except ValueError as error:
        raise RegistryUnavailable(f"{url} is not valid JSON: {error}") from error
    if not isinstance(document, dict):
        raise RegistryUnavailable(f"{url} is not an ACP registry")
    return document
