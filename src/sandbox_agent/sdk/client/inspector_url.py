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
    nor in a `Referer`. The page removes them from the address bar.
    """
    path = f"sessions/{segment(session_id)}" if session_id else ""
    secrets = {"token": token, "headers": json_codec.encode(dict(headers)).decode() if headers else None}
    fragment = "&".join(f"{key}={quote(value, safe='')}" for key, value in secrets.items() if value)
    return f"{base_url.rstrip('/')}/ui/{path}{'#' + fragment if fragment else ''}"
