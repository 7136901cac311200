"""`/openapi.json` and the page `/docs`: public, and made when first requested.

The page is plain HTML written from the OpenAPI document: no script, nothing loaded from another host.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from sandbox_agent.http.messages import HeaderList, Request, Response
from sandbox_agent.http.openapi.document import build
from sandbox_agent.http.openapi.html import render
from sandbox_agent.http.openapi.operation import Content, Operation, ResponseSpec
from sandbox_agent.http.router import ROUTES, WEBSOCKET
from sandbox_agent.version import version

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

_PAGE_HEADERS: HeaderList = [
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
    (b"x-frame-options", b"DENY"),
]


@Operation(
    id="getOpenApi",
    tag="server",
    summary="This document",
    is_public=True,
    responses={200: ResponseSpec("OpenAPI 3.1", [Content(dict[str, Any])])},
)
async def openapi(request: Request, services: Services) -> Response:
    return Response.json(await asyncio.to_thread(document_bytes))


@Operation(
    id="getDocs",
    tag="server",
    summary="This document as a page",
    description="Self-contained: it loads nothing from another host.",
    is_public=True,
    responses={200: ResponseSpec("The page", [Content(str, media_type="text/html")])},
)
async def page(request: Request, services: Services) -> Response:
    body = await asyncio.to_thread(page_bytes)
    return Response(200, body, list(_PAGE_HEADERS), b"text/html; charset=utf-8")


@cache
def document_bytes() -> bytes:
    """The OpenAPI document of the route table, as it is committed in `docs/openapi.json`."""
    document = build(documented_handlers(), version())
    return msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n"


def documented_handlers() -> dict[tuple[str, str], Callable[..., Any]]:
    """The handlers by method and path, without the inspector page and WebSockets (OpenAPI has none)."""
    return {
        (route.method, route.path): route.load()
        for route in ROUTES
        if not route.path.startswith("/ui") and route.method != WEBSOCKET
    }


@cache
def page_bytes() -> bytes:
    return render(msgspec.json.decode(document_bytes())).encode()
