"""JSON bodies of the endpoints beside ACP: typed in both directions.

A request body is checked for content type, size, syntax and type, in this order; each has its own problem.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from sandbox_agent.errors import InvalidRequest, UnsupportedMediaType
from sandbox_agent.http.messages import JSON, HeaderList, Request, Response

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

T = TypeVar("T")
encode = msgspec.json.Encoder().encode


async def json_bytes(request: Request, services: Services) -> bytes:
    """The body of a request that must be JSON, not yet decoded."""
    if request.media_type != JSON:
        raise UnsupportedMediaType("content-type must be application/json")
    return await request.body(services.settings.max_json_bytes)


async def json_body(request: Request, services: Services, body_type: type[T]) -> T:
    """The body as a typed object; unknown fields are ignored."""
    try:
        return msgspec.json.decode(await json_bytes(request, services), type=body_type)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise InvalidRequest(f"invalid JSON body: {exc}") from None


def json_response(body: msgspec.Struct, headers: HeaderList | None = None) -> Response:
    """200 with a typed body."""
    return Response(200, encode(body), headers, JSON)
