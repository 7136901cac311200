"""JSON bodies of the endpoints beside ACP: content type, size, syntax and shape, each with its own answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from sandbox_agent.errors import InvalidRequest, UnsupportedMediaType
from sandbox_agent.http.messages import JSON, Request

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

T = TypeVar("T")


async def json_bytes(request: Request, services: Services) -> bytes:
    """The body of a request that must be JSON, not yet decoded."""
    if request.media_type != JSON:
        raise UnsupportedMediaType("content-type must be application/json")
    return await request.body(services.settings.max_json_bytes)


async def json_body(request: Request, services: Services, shape: type[T]) -> T:
    """The body as a typed object; unknown fields are ignored."""
    try:
        return msgspec.json.decode(await json_bytes(request, services), type=shape)
    except msgspec.ValidationError as exc:
        raise InvalidRequest(f"wrong JSON body: {exc}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise InvalidRequest(f"invalid JSON body: {exc}") from None
