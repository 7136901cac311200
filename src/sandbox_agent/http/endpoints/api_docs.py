"""The API for people and tools: `/openapi.json` and the page `/docs`, both open and both made on demand.

The page is plain HTML written from the OpenAPI document: no script, nothing loaded from anywhere else.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING

from sandbox_agent.http.messages import Request, Response

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

_POLICY = b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


async def openapi(request: Request, services: Services) -> Response:
    return Response.json(await asyncio.to_thread(document_bytes))


async def page(request: Request, services: Services) -> Response:
    headers = [(b"content-security-policy", _POLICY), (b"x-content-type-options", b"nosniff")]
    return Response(200, await asyncio.to_thread(page_bytes), headers, b"text/html; charset=utf-8")


@cache
def document_bytes() -> bytes:
    """The OpenAPI document of the route table, as it is committed in `docs/openapi.json`."""
    from importlib.metadata import version

    import msgspec

    from sandbox_agent.http.openapi.document import build
    from sandbox_agent.http.router import ROUTES

    document = build(((route.method, route.path) for route in ROUTES), version("sandbox-agent"))
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


@cache
def page_bytes() -> bytes:
    import msgspec

    from sandbox_agent.http.openapi.html import render

    return render(msgspec.json.decode(document_bytes())).encode()
