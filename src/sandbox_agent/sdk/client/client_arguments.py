"""Checks the arguments of a client, URL and options, before anything is started."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from sandbox_agent.sdk.client.client_options import CommonOptions, ConnectOptions
from sandbox_agent.sdk.default_address import DEFAULT_URL
from sandbox_agent.sdk.option_values import check_values

_OF_START = ("agents", "sandbox_id", "spawn")
"""The options that are parameters of `start` itself."""
_HINTS = {
    "token": 'the token of a started server is spawn={"token": ...}',
    "base_url": "start() makes a server; connect(base_url) uses one that runs",
    "port": 'the port of a started server is spawn={"port": ...}',
    "agents": "agents are added by start(), or by the agents.toml of the server",
    "directory": "the directory of all sessions is default_directory",
}


def server_url(given: str | None) -> str:
    """The URL of the server: given, in `SANDBOX_AGENT_URL`, or the default. Raises `ValueError`."""
    url = given or os.environ.get("SANDBOX_AGENT_URL") or DEFAULT_URL
    if not isinstance(url, str):
        raise TypeError(f"base_url is a URL such as {DEFAULT_URL!r}, not {url!r}")
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https"):
        hint = "" if "://" in url else f"; did you mean 'http://{url}'?"
        raise ValueError(f"{url!r} is not the URL of a server: it begins with http:// or https://{hint}")
    if not parts.hostname:
        raise ValueError(f"{url!r} has no host; a URL looks like {DEFAULT_URL!r}")
    return url


def check_client_options(call: str, options: Mapping[str, Any]) -> None:
    """Raise `TypeError` for options that `connect` or `start` does not have, or of another kind."""
    kind = ConnectOptions if call == "connect" else CommonOptions
    known = kind.__annotations__
    unknown = [name for name in options if name not in known]
    if unknown:
        hints = "".join(f"; {_HINTS[name]}" for name in unknown if name in _HINTS)
        offered = ", ".join(sorted({*known, *(() if call == "connect" else _OF_START)}))
        raise TypeError(f"{call}() has no option {', '.join(unknown)}{hints}; it has {offered}")
    # `open_store` says more about a store.
    check_values({name: value for name, value in options.items() if name != "store"}, kind)
