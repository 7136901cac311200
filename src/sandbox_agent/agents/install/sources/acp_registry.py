"""The ACP registry: a public JSON document of agents and how each is distributed.

It is asked only for agents without a pin, or when a version is requested. `RegistryUnavailable` is a class of
its own, so that callers can fall back to the pinned package.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox_agent.agents.install.sources.platform_name import registry_platform

DEFAULT_URL = "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json"
_CONNECT_LIMIT_S = 3
_DOCUMENT_LIMIT_S = 15
_DOCUMENT_BYTES = 16 * 1024 * 1024


class RegistryUnavailable(Exception):
    """The registry cannot be reached, or the document is not a registry."""


@dataclass(frozen=True, slots=True)
class RegistryPackage:
    """An agent that is distributed as a package."""

    source: str
    """`npm` or `pypi`."""
    package: str
    version: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RegistryArchive:
    """An agent that is distributed as an archive, or as a single program, for this machine."""

    archive: str
    command: str
    """The path of the program in the archive."""
    version: str
    sha256: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


async def find_distribution(
    url: str, ids: Sequence[str], version: str | None = None
) -> RegistryArchive | RegistryPackage | None:
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


def _distribution(entry: Mapping[str, Any]) -> RegistryArchive | RegistryPackage | None:
    channels, version = entry.get("distribution"), str(entry.get("version", ""))
    if not isinstance(channels, dict):
        return None
    for kind, source in (("npx", "npm"), ("uvx", "pypi")):
        way = channels.get(kind)
        if isinstance(way, dict) and isinstance(way.get("package"), str):
            package = _pypi_name(way["package"]) if source == "pypi" else way["package"]
            return RegistryPackage(source, package, version, _args(way), _env(way))
    archives = channels.get("binary")
    way = archives.get(registry_platform()) if isinstance(archives, dict) else None
    if isinstance(way, dict) and isinstance(way.get("archive"), str) and isinstance(way.get("cmd"), str):
        return RegistryArchive(way["archive"], way["cmd"], version, way.get("sha256"), _args(way), _env(way))
    return None


def _args(way: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(str(argument) for argument in way.get("args") or ())


def _env(way: Mapping[str, Any]) -> dict[str, str]:
    """Its variables, without names that a shell cannot export."""
    variables = way.get("env") or {}
    return {str(k): str(v) for k, v in variables.items() if re.fullmatch(r"[A-Za-z_]\w*", str(k))}


def _pypi_name(package: str) -> str:
    """uvx accepts `name@1.2` and `name==1.2`; pip only the second form."""
    return re.sub(r"(?<=\w)@(?=\d)", "==", package)


def _fetch(url: str) -> dict[str, Any]:
    # Imported here: httpx and TLS take tens of milliseconds, and most servers never ask the registry.
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
