"""`GET /` and `GET /v1/health`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from sandbox_agent.http.json_body import json_response
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.http.openapi.operation import Content, Operation, ResponseSpec

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

DOCS_PATH = "/docs"


class ServerInfo(msgspec.Struct):
    """The name of the server and the address of its API documentation."""

    docs: str
    name: str


class Health(msgspec.Struct):
    status: Literal["ok"]


def _info(host: str) -> ServerInfo:
    return ServerInfo(docs=f"http://{host}{DOCS_PATH}", name="Sandbox Agent")


@Operation(
    id="getRoot",
    tag="server",
    summary="Name of the server",
    is_public=True,
    responses={
        200: ResponseSpec("Name and documentation", [Content(ServerInfo, _info("127.0.0.1:2468"))]),
    },
)
async def index(request: Request, services: Services) -> Response:
    host = request.header(b"host") or "localhost"
    return json_response(_info(host))


@Operation(
    id="getHealth",
    tag="server",
    summary="Whether the server is up",
    responses={200: ResponseSpec("The server is up", [Content(Health, Health("ok"))])},
)
async def health(request: Request, services: Services) -> Response:
    return json_response(Health("ok"))
