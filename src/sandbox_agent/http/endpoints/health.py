"""The two endpoints that say that we are here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.http.messages import Request, Response

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

DOCS_PATH = "/docs"
HEALTH_PATH = b"/v1/health"
_HEALTHY = b'{"status":"ok"}'


async def index(request: Request, services: Services) -> Response:
    host = request.header(b"host") or "localhost"
    import json  # the host is foreign text; once per visit of a person

    body = {"docs": f"http://{host}{DOCS_PATH}", "name": "Sandbox Agent"}
    return Response.json(json.dumps(body, separators=(",", ":")).encode())


async def health(request: Request, services: Services) -> Response:
    return health_response()


def health_response() -> Response:
    return Response.json(_HEALTHY)
