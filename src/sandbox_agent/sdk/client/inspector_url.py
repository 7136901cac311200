"""The address of the server's web page."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.transport.http_api import segment


def build_inspector_url(
    base_url: str,
    token: str | None = None,
    headers: Mapping[str, str] | None = None,
    session_id: str | None = None,
) -> str:
    """The address of a server's web page, opened at a session.

    Token and headers are in the fragment, which browsers do not send: they appear neither in access logs
    nor in a `Referer`. The page removes them from the address bar. Headers are meant for a proxy in front
    of the server: the page ignores those that the server itself reads, so the token of an `Authorization`
    header is passed as the token.
    """
    path = f"sessions/{segment(session_id)}" if session_id else ""
    others = dict(headers or {})
    for name in [name for name in others if name.lower() == "authorization"]:
        scheme, _, credentials = others.pop(name).partition(" ")
        if scheme.lower() in ("bearer", "token"):
            token = token or credentials.strip()
    secrets = {"token": token, "headers": json_codec.encode(others).decode() if others else None}
    fragment = "&".join(f"{key}={quote(value, safe='')}" for key, value in secrets.items() if value)
    return f"{base_url.rstrip('/')}/ui/{path}{'#' + fragment if fragment else ''}"
